#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AsinDef() {
  return Unary("asin", "Arc sine of X, in [-pi/2, pi/2].")
      .Alias("onnx", "Asin")
      .CostIs(PerResult<10>)
      .Amp(kDeny, "near 1 the f16 step of 2^-11 in the operand is a step of 0.03 in the result");
}

}  // namespace ampc::ops
