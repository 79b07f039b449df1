#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AcosDef() {
  return Unary("acos", "Arc cosine of X, in [0, pi].")
      .Alias("onnx", "Acos")
      .CostIs(PerResult<10>)
      .Amp(kDeny, "near 1 the f16 step of 2^-11 in the operand is a step of 0.03 in the result");
}

}  // namespace ampc::ops
