// The forward part of a program that is to train: casts and types by the decision of amp-decide.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/program.h"
#include "runtime/train/decorate_options.h"

namespace ampc::amp {

struct AmpRewrite {
  std::vector<std::string> low_params;  // declared low now, in program order; their weights are still to be converted
  std::vector<std::string> notes;       // what the user should know, one sentence each
};

// Rewrites `program`, which has no gradients yet. Other than for inference a weight is never stored twice, because training changes it,
// and at O1 it stays fp32 and is cast in each step. With `low_params` given (a test program), just these are stored low.
absl::StatusOr<AmpRewrite> RewriteForTraining(Program& program, const DecorateOptions& options, const AmpSettings& settings,
                                              const std::vector<std::string>* low_params = nullptr);

}  // namespace ampc::amp
