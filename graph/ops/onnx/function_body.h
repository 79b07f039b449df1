// Calls of a model's local functions. A call is an opaque op with the attribute function_body: a block of its own, with the attributes that
// the call gives in place. The block begins with onnx.enter, whose results are the op's operands in order, and ends with onnx.yield of the
// op's results; its values are its own. The file has the function and not the block: passes that change what is written leave such blocks
// alone, and lower-onnx puts their ops in place of the call.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc::onnx {

inline constexpr absl::string_view kFunctionBody = "function_body";

// The block that a call executes; null for an op that is none.
Block* FunctionBodyOf(const Op& op);
// By block index: inside the body of a function. O(program).
std::vector<bool> FunctionBlocks(const Program& program);

}  // namespace ampc::onnx
