#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef TrilinearInterpV2Def() {
  return Interpolation("trilinear_interp_v2", "trilinear",
                       "X [n, c, d, h, w] resized: each element is the weighted mean of its 8 neighbours in X. The size is SizeTensor, "
                       "OutSize, X times Scale or 'scale', or out_d, out_h, out_w.")
      .CostIs(PerResult<16>)
      .Amp(kInfer, "positions and weights are fp32; a mean of 8 lies between its operands and is rounded once")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
