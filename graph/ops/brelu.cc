#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef BreluDef() {
  return Unary("brelu", "Out = min(max(X, t_min), t_max).")
      .A("t_min", 0.0f)
      .Use(AttrUse::kBounds)
      .A("t_max", 24.0f)
      .Use(AttrUse::kBounds)
      .CostIs(PerResult<2>)
      .Amp(kClear, "selects between x and its bounds, which are usually 0 and 24: exact in every type")
      .Traits({OpTrait::kRectifier});
}

}  // namespace ampc::ops
