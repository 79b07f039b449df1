#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseAddDef() {
  return MayOverwrite(Elementwise("elementwise_add", "Out = X + Y, the shorter shape broadcast from 'axis'.")
                          .Amp(kInfer, "one rounding; two operands at most double the range")
                          .Alias("onnx", "Add"))
      .Traits({OpTrait::kAdditive, OpTrait::kArithmetic})
      .BoundsAre(&SumBounds);
}

}  // namespace ampc::ops
