#include "graph/ops/bounds.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef UnsqueezeDef() {
  return Unsqueeze("unsqueeze", "X with dimensions of size 1 inserted at 'axes', one after the other.")
      .GradientOp({"X", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
