// arg_max and arg_min.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X -> Out: the position of an extreme element along 'axis', or in the flattened X.
OpDef ArgExtreme(std::string name, std::string doc);

}  // namespace ampc::ops
