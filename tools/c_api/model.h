// Models that callers name or hand over.
#pragma once

#include "absl/status/status.h"
#include "graph/base/memory_files.h"
#include "tools/c_api/ampc.h"

namespace ampc::c_api {

// A usage error, with the argument's name, for a model that is not whole.
absl::Status CheckModel(const ampc_model* model, const char* name);
// Its files, whose bytes are the caller's; empty for a model on the disk.
MemoryFiles FilesOf(const ampc_model& model);

}  // namespace ampc::c_api
