#include "graph/ops/bounds.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef FlattenDef() {
  return Flatten("flatten", "X as a matrix: the dimensions before 'axis' are the rows.")
      .GradientOp({"X", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
