// Folding of single ops while a program is lowered.
#pragma once

#include "graph/evaluator.h"
#include "graph/op.h"

namespace ampc::onnx {

// Computes a native op whose operands are small literals, or the shape of a value of known size: its results become constants, and true
// says that the op is not needed any more. `evaluator` may be null. Nothing happens for an op with results that are not temps.
bool FoldOnConstants(const Op& op, const Evaluator* evaluator);

}  // namespace ampc::onnx
