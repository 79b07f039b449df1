#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SiluDef() {
  return Unary("silu", "Out = X / (1 + exp(-X)).")
      .CostIs(PerResult<5>)
      .Amp(kInfer, "computed in fp32 inside; |result| <= |x|, so it cannot overflow")
      .GradientOp({"X Out?", "Out", "X"})
      .BoundsAre(&GatedBounds)
      .FusedActivation();
}

}  // namespace ampc::ops
