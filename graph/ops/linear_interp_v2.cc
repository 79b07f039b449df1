#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef LinearInterpV2Def() {
  return Interpolation(
             "linear_interp_v2", "linear",
             "X [n, c, w] resized: each element is the weighted mean of its 2 neighbours in X. The size is SizeTensor, OutSize, X "
             "times Scale or 'scale', or out_w.")
      .CostIs(PerResult<3>)
      .Amp(kInfer, "positions and weights are fp32; a mean of 2 lies between its operands and is rounded once")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
