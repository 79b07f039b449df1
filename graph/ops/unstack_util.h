// unstack and unbind.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X -> the results in slot `out`, one per element of the axis.
OpDef Unstack(std::string name, std::string out);

}  // namespace ampc::ops
