#include "graph/ops/families.h"

namespace ampc::ops {

OpDef LogicalNotDef() {
  return Logical("logical_not", "Out = not X, where a number counts as true unless it is 0.", false).Alias("onnx", "Not");
}

}  // namespace ampc::ops
