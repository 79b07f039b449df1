#include "graph/ops/families.h"

namespace ampc::ops {

OpDef LessEqualDef() {
  return Comparison("less_equal", "Out = X <= Y element by element, broadcast; always bool.").Alias("onnx", "LessOrEqual");
}

}  // namespace ampc::ops
