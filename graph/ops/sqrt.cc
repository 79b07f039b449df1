#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SqrtDef() {
  return Unary("sqrt", "Square root.")
      .Alias("onnx", "Sqrt")
      .CostIs(PerResult<2>)
      .Amp(kInfer, "halves the exponent: every f16 operand has an f16 result with a smaller relative error")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kSteepAtZero, OpTrait::kRoot})
      .BoundsAre(&RootBounds);
}

}  // namespace ampc::ops
