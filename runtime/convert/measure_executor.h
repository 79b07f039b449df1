// MeasureExecutor: runs programs for the pass measure, on the CPU and without fusion.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program_executor.h"
#include "runtime/convert/options.h"
#include "runtime/feeds.h"

namespace ampc {

// How files become feeds, by the options of a conversion.
absl::StatusOr<FeedOptions> FeedOptionsOf(const ConvertOptions& options);

inline constexpr double kMostProbeFlops = 50e9;
inline constexpr double kMostProbeBytes = 500e6;

// Inputs are sources of runtime/feeds.h. Errors are those of reading them, of feeds that do not fit, and of the run.
class MeasureExecutor : public ProgramExecutor {
 public:
  MeasureExecutor() = default;
  explicit MeasureExecutor(FeedOptions feeds) : feeds_(std::move(feeds)) {}

  absl::Status Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const override;
  // On runtime/made_feeds.h. Left out where the program has more than kMostProbeBytes of weights, or a run more than kMostProbeFlops:
  // neither depends on the machine.
  absl::Status RunOnMade(const Program& program, int runs, int choice, const OnValue& on_value, Made* made) const override;

 private:
  const FeedOptions feeds_ = {};
};

}  // namespace ampc
