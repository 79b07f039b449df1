#include "graph/ops/bounds.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef Squeeze2Def() {
  return Squeeze("squeeze2", "X without the dimensions 'axes' that are 1; without axes every 1 goes. XShape keeps the shape of X.")
      .OptOut("XShape")
      .GradientOp({"XShape", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
