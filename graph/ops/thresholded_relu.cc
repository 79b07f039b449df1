#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ThresholdedReluDef() {
  return Unary("thresholded_relu", "Out = X where X > threshold, else 0.")
      .A("threshold", 1.0f)
      .Alias("onnx", "ThresholdedRelu")
      .Amp(kClear, "selects between x and 0: exact in every type")
      .Traits({OpTrait::kRectifier});
}

}  // namespace ampc::ops
