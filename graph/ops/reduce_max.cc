#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ReduceMaxDef() {
  return Reduction("reduce_max", "Largest value over the axes 'dim', or over all.")
      .Amp(kClear, "selects one of its operand's values: exact in every type")
      .Alias("onnx", "ReduceMax")
      .GradientOp({"X Out", "Out", "X"})
      .Traits({OpTrait::kExtremum, OpTrait::kResample})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
