// Common parts of the ops that draw random numbers.
#pragma once

#include <string>

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// ShapeTensor, ShapeTensorList and `shape` as fill_constant has them -> Out of `dtype`; the attribute seed. The numbers are a function
// of seed and the name of the result. c1: dtype is a floating-point type. c2: sizes are not negative.
OpDef RandomFill(std::string name, std::string doc);
absl::Status InferRandomFill(InferContext& ctx);

}  // namespace ampc::ops
