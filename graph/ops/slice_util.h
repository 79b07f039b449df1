// slice and strided_slice.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// Input -> Out: elements from 'starts' to 'ends' along 'axes'. `strided`: every 'strides'-th of them, backwards where it is negative.
OpDef Slice(std::string name, std::string doc, bool strided);

}  // namespace ampc::ops
