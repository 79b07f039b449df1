#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef CosDef() {
  return Unary("cos", "Cosine of X in radians.")
      .Alias("onnx", "Cos")
      .CostIs(PerResult<10>)
      .Amp(kDeny, "an f16 angle near 1000 is off by up to 0.25: positions and phases lose their meaning")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized, OpTrait::kPeriodic})
      .BoundsAre(&Between<-1, 1>);
}

}  // namespace ampc::ops
