#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AtanhDef() {
  return Unary("atanh", "Inverse hyperbolic tangent, of X in [-1, 1].")
      .Alias("onnx", "Atanh")
      .CostIs(PerResult<10>)
      .Amp(kDeny, "an operand above 1 - 2^-12 is 1 in f16 and gives inf");
}

}  // namespace ampc::ops
