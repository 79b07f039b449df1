#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef FeedDef() {
  return OpDef("feed")
      .Doc("Column 'col' of the feed list; in the IR a feed is a variable, so importers keep this op only for export.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .A("col", 0)
      .Infer(InferNothing)
      .CostIs(FreeCost)
      .Amp(kNever, "the signature's types are the caller's; casts stand beside it")
      .Gradient("none: the border of the program")
      .Impure();
}

}  // namespace ampc::ops
