#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ReluDef() {
  return Unary("relu", "Out = max(X, 0).")
      .Alias("onnx", "Relu")
      .CostIs(PerResult<1>)
      .Amp(kClear, "selects between x and 0: exact in every type")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kRectifier})
      .BoundsAre(&ReluBounds)
      .FusedActivation();
}

}  // namespace ampc::ops
