// Views of the operand with other dims: reshape, squeeze, unsqueeze and flatten. Each has a first form, without, and a second, with XShape,
// which the caller adds with the gradient.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace ampc::ops {

// X, Shape, ShapeTensor -> Out: the target shape from numbers, tensors, zeros (copy) and one -1 (the rest).
OpDef Reshape(std::string name, std::string doc);
// X -> Out without the dimensions 'axes' that are 1.
OpDef Squeeze(std::string name, std::string doc);
// X, AxesTensor, AxesTensorList -> Out with dimensions of size 1 at 'axes'.
OpDef Unsqueeze(std::string name, std::string doc);
// X -> Out as a matrix.
OpDef Flatten(std::string name, std::string doc);

}  // namespace ampc::ops
