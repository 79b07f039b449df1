#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Relu6Def() {
  return Unary("relu6", "Out = min(max(X, 0), threshold).")
      .A("threshold", 6.0f)
      .CostIs(PerResult<2>)
      .Amp(kClear, "selects between x, 0 and 6: exact in every type")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kBounded, OpTrait::kNormalized, OpTrait::kRectifier})
      .BoundsAre(&Between<0, 6>)
      .FusedActivation();
}

}  // namespace ampc::ops
