#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef FetchDef() {
  return MayOverwrite(
      OpDef("fetch")
          .Doc("Puts X into column 'col' of the fetch list; in the IR a fetch is part of the signature, so importers keep this op only for "
               "export.")
          .In("X", kAsIs)
          .Out("Out", kAsIs)
          .A("col", 0)
          .Infer(InferNothing)
          .CostIs(FreeCost)
          .Amp(kNever, "the signature's types are the caller's; casts stand beside it")
          .Gradient("none: the border of the program")
          .Impure());
}

}  // namespace ampc::ops
