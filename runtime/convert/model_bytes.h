// The size of a model's files.
#pragma once

#include <cstdint>
#include <string>

#include "graph/base/memory_files.h"
#include "graph/program.h"

namespace ampc {

// Bytes of the program's file and of the files that its weights lie in; `memory` has some of them, or is null.
int64_t ModelBytes(const std::string& path, const Program& program, const MemoryFiles* memory);

}  // namespace ampc
