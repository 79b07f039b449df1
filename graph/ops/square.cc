#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SquareDef() {
  return Unary("square", "Out = X * X.")
      .CostIs(PerResult<1>)
      .Amp(kDeny, "overflows f16 for |x| of 256 and more, and is 0 for |x| below 2^-12.5")
      .Traits({OpTrait::kPower})
      .BoundsAre(&SquareBounds);
}

}  // namespace ampc::ops
