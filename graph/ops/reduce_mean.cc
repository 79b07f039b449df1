#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ReduceMeanDef() {
  return Reduction("reduce_mean", "Mean over the axes 'dim', or over all.")
      .Amp(kInfer, "accumulated in fp32; a mean lies between the smallest and the largest operand, so it cannot overflow")
      .Alias("onnx", "ReduceMean")
      .Traits({OpTrait::kSum, OpTrait::kResample})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
