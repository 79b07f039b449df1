// Loop, Scan and SequenceMap become a while.
#pragma once

#include "absl/status/status.h"
#include "graph/program.h"

namespace ampc::onnx {

// The ops are appended to `block`, in which `op` stood; the types in its body and of its results are settled. Scan outputs are collected in
// tensor arrays; without an iteration they have no elements, and 0 for the dims that only an iteration would tell.
absl::Status LowerLoop(const Op& op, Block& block);
absl::Status LowerScan(const Op& op, Block& block);
absl::Status LowerSequenceMap(const Op& op, Block& block);

}  // namespace ampc::onnx
