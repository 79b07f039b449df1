// StructureKeys: ops named by what they are and what stands around them, not by names of values, so that the same model exported again with
// other names has the same keys. Ops that are alike, with alike neighbours, have the same key: layers that repeat.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program.h"

namespace ampc {

// By Op::id; 0 for casts that AMP inserted, which are looked through. Of an op count its type (for ONNX without the version), its
// attributes but for those that mean nothing, dims of its weights, small constants, and the same of the ops around it, four ops far.
// O(program).
std::vector<uint64_t> StructureKeys(const Program& program);

}  // namespace ampc
