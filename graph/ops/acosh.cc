#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AcoshDef() {
  return Unary("acosh", "Inverse hyperbolic cosine, of X >= 1.")
      .Alias("onnx", "Acosh")
      .CostIs(PerResult<10>)
      .Amp(kDeny, "near 1 the f16 step of 2^-10 in the operand is a step of 0.04 in the result");
}

}  // namespace ampc::ops
