// The decision procedures behind amp-decide: one per family of algorithms. Each reads the program only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/precision_support.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/lists.h"
#include "passes/amp/decide/low_penalty.h"
#include "passes/amp/decide/plan.h"
#include "passes/amp/policy/policy.h"
#include "passes/amp/select/selector.h"
#include "passes/analysis/time_model.h"

namespace ampc {

struct DecideOptions {
  std::string level = "O2";  // O0, OD, O1, O2, auto
  DType low = DType::kF16;
  std::string mode = "own";
  bool guard = false;    // only ops inside an fp16_guard may become low
  bool promote = false;  // an op outside the lists is low only if none of its operands is fp32
  // Feeds and fetches become low where low ops touch them; those in keep_io never do, those in low_io_names always.
  bool low_io = false;
  std::vector<std::string> keep_io, low_io_names;  // exact names; own mode only
  std::vector<std::string> white_list;             // op types
  std::vector<std::string> black_list;             // op types
  std::vector<std::string> black_vars;             // exact names of values
  std::vector<ClassRule> classes;                  // own mode only: instead of what the records say
  std::vector<Selector> include, exclude;          // own mode only; which request wins: tools/docs/convert.md
  const PlannedOps* plan = nullptr;                // own mode only; counts more than any request
  const TimeModel* time = nullptr;                 // at level auto, never null
  const LowPenalty* penalty = nullptr;             // at level auto
};

using DecisionOr = absl::StatusOr<std::unique_ptr<AmpDecision>>;

// Nothing becomes low.
std::unique_ptr<AmpDecision> DecideNothing(const DecideOptions& options, const Program& program);
// A decision with the settings of a Paddle policy for a whole program; every op is left alone.
std::unique_ptr<AmpDecision> NewDecision(const DecideOptions& options, const PaddlePolicy& policy, const Program& program);
// ampc's own: classes and slot precisions of the records, kernels of the target.
DecisionOr DecideOwn(const DecideOptions& options, const PrecisionSupport& support, const Program& program,
                     std::vector<std::string>* notes);
// Paddle 2.5 and later: one algorithm for OD, O1 and O2, over all blocks.
DecisionOr DecideUnified(const DecideOptions& options, const PaddlePolicy& policy, const Program& program);
// Paddle's converter for deployment: what has a low kernel and is not on its black list, and what the writers of a value agree on.
DecisionOr DecideInference(const DecideOptions& options, const PaddlePolicy& policy, const Program& program);
// Paddle up to 2.4: O1 colours the main block by neighbourhood; O2 makes low what is supported.
DecisionOr DecideLegacyO1(const DecideOptions& options, const PaddlePolicy& policy, const Program& program);
DecisionOr DecideLegacyO2(const DecideOptions& options, const PaddlePolicy& policy, const Program& program);

}  // namespace ampc
