// Requests of users, and files that a training keeps.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/lists.h"
#include "passes/amp/decide/ranges.h"
#include "passes/amp/select/selector.h"
#include "passes/pipeline.h"
#include "runtime/train/checkpoint_files.h"
#include "tests/fuzz/target.h"

namespace ampc::fuzz {

absl::Status MeasuredRanges(absl::string_view bytes) {
  const absl::StatusOr<Ranges> ranges = ParseRanges(bytes);
  if (!ranges.ok()) return CheckPolite(ranges.status());
  return ParseRanges(RangesJson(*ranges)).status();  // what was read can be written
}

absl::Status Lists(absl::string_view bytes) {
  AMPC_RETURN_IF_ERROR(CheckPolite(ParseSelectorList(bytes).status()));
  std::vector<ClassRule> rules;
  AMPC_RETURN_IF_ERROR(CheckPolite(ParseClassRules(bytes, &rules)));
  const absl::StatusOr<Pipeline> pipeline = Pipeline::Parse(bytes);
  if (!pipeline.ok()) return CheckPolite(pipeline.status());
  return Pipeline::Parse(pipeline->ToString()).status();
}

absl::Status Checkpoint(absl::string_view bytes) {
  TrainingProgress progress;
  VariableTypes types;
  if (absl::Status status = ParseTrainingJson(bytes, &progress, &types); !status.ok()) {
    AMPC_RETURN_IF_ERROR(CheckPolite(status));
  } else {
    AMPC_RETURN_IF_ERROR(ParseTrainingJson(TrainingJson(progress, types), &progress, &types));
  }
  return CheckPolite(ParseManifest(bytes).status());
}

}  // namespace ampc::fuzz
