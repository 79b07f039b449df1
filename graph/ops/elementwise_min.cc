#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseMinDef() {
  return Elementwise("elementwise_min", "Out = min(X, Y), the shorter shape broadcast from 'axis'.")
      .Amp(kClear, "selects one of two values: exact in every type")
      .Alias("onnx", "Min")
      .Traits({OpTrait::kBounded, OpTrait::kSelection, OpTrait::kAdditive})
      .BoundsAre(&MinBounds);
}

}  // namespace ampc::ops
