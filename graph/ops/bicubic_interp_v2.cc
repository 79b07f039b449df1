#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef BicubicInterpV2Def() {
  return Interpolation(
             "bicubic_interp_v2", "bicubic",
             "X [n, c, h, w] resized: each element is a weighted sum of 4 x 4 neighbours in X by cubic weights with a = -0.75. The "
             "size is SizeTensor, OutSize, X times Scale or 'scale', or out_h, out_w.")
      .CostIs(PerResult<40>)
      .Amp(kInfer,
           "positions and weights are fp32; weights sum to 1 and their magnitudes to at most 1.9, so a result is rounded once and "
           "overflows only above 34000");
}

}  // namespace ampc::ops
