#include "graph/ops/bounds.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef Reshape2Def() {
  return Reshape("reshape2",
                 "X with another shape: 0 copies the dimension of X, one -1 is what remains. ShapeTensor or Shape replaces the attribute. "
                 "XShape "
                 "keeps the shape of X.")
      .OptOut("XShape")
      .GradientOp({"XShape", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
