#include "graph/ops/families.h"

namespace ampc::ops {

OpDef LessThanDef() { return Comparison("less_than", "Out = X < Y element by element, broadcast; always bool.").Alias("onnx", "Less"); }

}  // namespace ampc::ops
