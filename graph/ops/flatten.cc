#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef FlattenDef() { return Flatten("flatten", "X as a matrix: the dimensions before 'axis' are the rows.").Gradient("flatten_grad"); }

}  // namespace ampc::ops
