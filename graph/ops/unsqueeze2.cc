#include "graph/ops/bounds.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef Unsqueeze2Def() {
  return Unsqueeze("unsqueeze2", "X with dimensions of size 1 inserted at 'axes', one after the other. XShape keeps the shape of X.")
      .OptOut("XShape")
      .GradientOp({"XShape AxesTensor AxesTensorList", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
