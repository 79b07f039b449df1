#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AssignDef() {
  return MayOverwrite(OpDef("assign")
                          .Doc("Out = X; with an overwritten result, the way a value gets into state.")
                          .In("X")
                          .Out("Out")
                          .Infer(InferSame)
                          .CostIs(MoveCost)
                          .Amp(kClear, "moves values without arithmetic")
                          .Gradient("assign")
                          .Alias("onnx", "Identity"))
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
