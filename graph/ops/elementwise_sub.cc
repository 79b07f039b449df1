#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseSubDef() {
  return Elementwise("elementwise_sub", "Out = X - Y, the shorter shape broadcast from 'axis'.")
      .Amp(kInfer, "one rounding; two operands at most double the range")
      .Alias("onnx", "Sub")
      .Traits({OpTrait::kAdditive, OpTrait::kArithmetic})
      .BoundsAre(&DifferenceBounds);
}

}  // namespace ampc::ops
