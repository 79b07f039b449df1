#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef HardShrinkDef() {
  return Unary("hard_shrink", "Out = X where |X| > threshold, else 0.")
      .A("threshold", 0.5f)
      .CostIs(PerResult<2>)
      .Amp(kClear, "selects between x and 0: exact in every type")
      .Traits({OpTrait::kRectifier});
}

}  // namespace ampc::ops
