// lookup_table and lookup_table_v2.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// W, Ids -> Out: rows of W. `column`: Ids has a last dimension of 1 that the result drops.
OpDef LookupTable(std::string name, std::string doc, bool column);

}  // namespace ampc::ops
