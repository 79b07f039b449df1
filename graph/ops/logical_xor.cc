#include "graph/ops/families.h"

namespace ampc::ops {

OpDef LogicalXorDef() {
  return Logical("logical_xor", "Out = X or Y but not both, where a number counts as true unless it is 0.").Alias("onnx", "Xor");
}

}  // namespace ampc::ops
