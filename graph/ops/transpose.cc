#include "graph/ops/bounds.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/transpose_util.h"

namespace ampc::ops {

OpDef TransposeDef() {
  return Transpose("transpose", "transpose2 without XShape.")
      .Alias("onnx", "Transpose")
      .GradientOp({"X Out?", "Out", "X"})
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
