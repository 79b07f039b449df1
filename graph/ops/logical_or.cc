#include "graph/ops/families.h"

namespace ampc::ops {

OpDef LogicalOrDef() { return Logical("logical_or", "Out = X or Y, where a number counts as true unless it is 0.").Alias("onnx", "Or"); }

}  // namespace ampc::ops
