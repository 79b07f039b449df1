#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef BilinearInterpV2Def() {
  return Interpolation(
             "bilinear_interp_v2", "bilinear",
             "X [n, c, h, w] resized: each element is the weighted mean of its 4 neighbours in X. The size is SizeTensor, OutSize, X "
             "times Scale or 'scale', or out_h, out_w.")
      .CostIs(PerResult<8>)
      .Amp(kInfer, "positions and weights are fp32; a mean of 4 lies between its operands and is rounded once")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
