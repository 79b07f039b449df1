#include "graph/ops/families.h"

namespace ampc::ops {

OpDef LogicalAndDef() {
  return Logical("logical_and", "Out = X and Y, where a number counts as true unless it is 0.").Alias("onnx", "And");
}

}  // namespace ampc::ops
