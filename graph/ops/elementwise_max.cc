#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseMaxDef() {
  return Elementwise("elementwise_max", "Out = max(X, Y), the shorter shape broadcast from 'axis'.")
      .Amp(kClear, "selects one of two values: exact in every type")
      .Alias("onnx", "Max")
      .Traits({OpTrait::kBounded, OpTrait::kSelection, OpTrait::kAdditive})
      .BoundsAre(&MaxBounds);
}

}  // namespace ampc::ops
