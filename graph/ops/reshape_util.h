// reshape and reshape2: the target shape from numbers, tensors, zeros (copy) and one -1 (the rest).
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X, Shape, ShapeTensor -> Out; the caller adds XShape and the gradient.
OpDef Reshape(std::string name, std::string doc);

}  // namespace ampc::ops
