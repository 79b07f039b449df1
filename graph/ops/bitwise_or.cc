#include "graph/ops/families.h"

namespace ampc::ops {

OpDef BitwiseOrDef() { return Bitwise("bitwise_or", "The bits that X or Y has.").Alias("onnx", "BitwiseOr"); }

}  // namespace ampc::ops
