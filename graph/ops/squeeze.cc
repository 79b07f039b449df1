#include "graph/ops/bounds.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef SqueezeDef() {
  return Squeeze("squeeze", "X without the dimensions 'axes' that are 1; without axes every 1 goes.")
      .GradientOp({"X", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
