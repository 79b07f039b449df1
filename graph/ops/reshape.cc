#include "graph/ops/bounds.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef ReshapeDef() {
  return Reshape("reshape", "reshape2 without XShape.").GradientOp({"X", "Out", "X"}).Alias("onnx", "Reshape").BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
