#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ReduceSumDef() {
  return Reduction("reduce_sum", "Sum over the axes 'dim', or over all.")
      .Amp(kDeny, "the sum leaves f16 above 65504: 256 values of 256 are enough; the result would be inf even with fp32 accumulation")
      .Alias("onnx", "ReduceSum")
      .Traits({OpTrait::kSum})
      .BoundsAre(&ReducedSumBounds);
}

}  // namespace ampc::ops
