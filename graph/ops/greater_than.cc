#include "graph/ops/families.h"

namespace ampc::ops {

OpDef GreaterThanDef() {
  return Comparison("greater_than", "Out = X > Y element by element, broadcast; always bool.").Alias("onnx", "Greater");
}

}  // namespace ampc::ops
