// A judge: a command that says whether outputs are good.
//
// It is run by `sh -c`, with these variables:
//   AMPC_OUTPUTS    a folder with 0.npz, 1.npz, ...: the outputs for each input, numbered as the inputs are given; only some are there
//   AMPC_REFERENCE  a folder with the outputs of the fp32 model for the same inputs
// Exit code 0 means good, any other bad. Its output goes to standard error.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor_map.h"

namespace ampc {

struct JudgedRun {
  int input = 0;
  const TensorMap* outputs = nullptr;
  const TensorMap* reference = nullptr;
};

// The files lie in a folder of their own below the system's one for temporary files, and are gone afterwards. Usage error: the command
// cannot be run, or a signal ends it.
absl::StatusOr<bool> AskJudge(const std::string& command, absl::Span<const JudgedRun> runs);

}  // namespace ampc
