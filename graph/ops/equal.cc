#include "graph/ops/families.h"

namespace ampc::ops {

OpDef EqualDef() {
  return Comparison("equal", "Out = X == Y element by element, broadcast; always bool. Floats closer than 1e-8 count as equal.")
      .Alias("onnx", "Equal");
}

}  // namespace ampc::ops
