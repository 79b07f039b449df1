// The traces of a conversion in a program: converted values, ops and attributes, and the options that it was made with.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

// Whether a value, an op or an attribute is what a conversion made it. Reasons why an op stays fp32 do not count.
bool IsConverted(const Program& program);

// The options that the conversion was made with, as its caller wrote them down; "" where the program does not say. They travel in every
// format as a mark of the first op of the main block that has no other one.
absl::string_view ConversionOptions(const Program& program);
void SetConversionOptions(std::string text, Program& program);

}  // namespace ampc
