#include "graph/ops/families.h"

namespace ampc::ops {

OpDef BitwiseXorDef() { return Bitwise("bitwise_xor", "The bits that either X or Y has.").Alias("onnx", "BitwiseXor"); }

}  // namespace ampc::ops
