#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef MemcpyDef() {
  return OpDef("memcpy")
      .Doc("Out = X in the memory of another place: dst_place_type 0 is the CPU, 1 a GPU.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .Required("dst_place_type", 0)
      .Infer(InferSame)
      .CostIs(MoveCost)
      .Amp(kNever, "moves what is asked for as it is, as a rule the flag that says whether a step is skipped")
      .Gradient("none: a copy between places, used for flags");
}

}  // namespace ampc::ops
