#include "graph/ops/bounds.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/transpose_util.h"

namespace ampc::ops {

OpDef Transpose2Def() {
  return Transpose("transpose2", "Dimension i of Out is dimension axis[i] of X. XShape keeps the shape of X.")
      .OptOut("XShape")
      .GradientOp({"XShape", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
