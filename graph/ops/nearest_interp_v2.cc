#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef NearestInterpV2Def() {
  return Interpolation("nearest_interp_v2", "nearest",
                       "X [n, c, h, w] (or n, c, d, h, w) resized: each element is the nearest of X. The size is SizeTensor, OutSize, X "
                       "times Scale or 'scale', or "
                       "out_h, out_w.")
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic; positions are computed in fp32")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
