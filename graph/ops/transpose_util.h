// transpose and transpose2.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X -> Out with permuted dimensions; the caller adds XShape.
OpDef Transpose(std::string name, std::string doc);

}  // namespace ampc::ops
