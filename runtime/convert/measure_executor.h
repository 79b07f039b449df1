// MeasureExecutor: runs programs for the pass measure, on the CPU and without fusion.
#pragma once

#include <string>
#include <vector>

#include "graph/program_executor.h"

namespace ampc {

inline constexpr double kMostProbeFlops = 50e9;
inline constexpr double kMostProbeBytes = 500e6;

// Inputs are .npz or .safetensors files. Errors are those of reading them, of feeds that do not fit, and of the run.
class MeasureExecutor : public ProgramExecutor {
 public:
  absl::Status Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const override;
  // On runtime/made_feeds.h. Left out where the program has more than kMostProbeBytes of weights, or a run more than kMostProbeFlops:
  // neither depends on the machine.
  absl::Status RunOnMade(const Program& program, int runs, int choice, const OnValue& on_value, Made* made) const override;
};

}  // namespace ampc
