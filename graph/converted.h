// What a conversion leaves in a program.
#pragma once

#include "graph/program.h"

namespace ampc {

// Whether a value, an op or an attribute is what a conversion made it. Reasons why an op stays fp32 do not count.
bool IsConverted(const Program& program);

}  // namespace ampc
