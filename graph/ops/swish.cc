#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SwishDef() {
  return Unary("swish", "Out = X / (1 + exp(-beta * X)).")
      .A("beta", 1.0f)
      .CostIs(PerResult<5>)
      .Amp(kInfer, "computed in fp32 inside; |result| <= |x|, so it cannot overflow")
      .BoundsAre(&SwishBounds)
      .FusedActivation();
}

}  // namespace ampc::ops
