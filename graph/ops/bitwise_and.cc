#include "graph/ops/families.h"

namespace ampc::ops {

OpDef BitwiseAndDef() { return Bitwise("bitwise_and", "The bits that X and Y both have.").Alias("onnx", "BitwiseAnd"); }

}  // namespace ampc::ops
