#include "graph/ops/bounds.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef Flatten2Def() {
  return Flatten("flatten2", "X as a matrix: the dimensions before 'axis' are the rows. XShape keeps the shape of X.")
      .OptOut("XShape")
      .GradientOp({"XShape", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
