#include "graph/ops/infer_util.h"
#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef ReshapeDef() { return Reshape("reshape", "reshape2 without XShape.").Gradient("reshape_grad").Alias("onnx", "Reshape"); }

}  // namespace ampc::ops
