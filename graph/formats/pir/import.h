// From a PIR program and its parameters to the IR.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "graph/formats/pir/files.h"
#include "graph/program.h"
#include "graph/weight.h"

namespace ampc::pir {

// `source` holds the program's text, which the result refers to. Ops become the native ops that op_table.inc names; `if` and `while` become
// If and Loop of the ONNX dialect, whose blocks have arguments and results as PIR's; what has no native op or an operand that it does not
// take is opaque. Constant operands become attributes. Values are named after their op and their number.
absl::StatusOr<Program> ImportProgram(std::shared_ptr<const WeightSource> source, const PirFiles& files);

}  // namespace ampc::pir
