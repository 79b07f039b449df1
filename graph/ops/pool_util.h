// Common parts of pool2d and pool3d.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X -> Out with the attributes of Paddle's pooling over `spatial` dimensions, 2 or 3; inference, cost and AMP class.
OpDef Pooling(std::string name, int spatial, std::string doc);

}  // namespace ampc::ops
