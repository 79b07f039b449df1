#include "graph/ops/families.h"

namespace ampc::ops {

OpDef BitwiseNotDef() { return Bitwise("bitwise_not", "The bits that X lacks; for bool, not X.", false).Alias("onnx", "BitwiseNot"); }

}  // namespace ampc::ops
