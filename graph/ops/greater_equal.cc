#include "graph/ops/families.h"

namespace ampc::ops {

OpDef GreaterEqualDef() {
  return Comparison("greater_equal", "Out = X >= Y element by element, broadcast; always bool.").Alias("onnx", "GreaterOrEqual");
}

}  // namespace ampc::ops
