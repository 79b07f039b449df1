// MeasureExecutor: runs programs for the pass measure, on the CPU and without fusion.
#pragma once

#include <string>
#include <vector>

#include "graph/program_executor.h"

namespace ampc {

// Inputs are .npz or .safetensors files. Errors are those of reading them, of feeds that do not fit, and of the run.
class MeasureExecutor : public ProgramExecutor {
 public:
  absl::Status Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const override;
};

}  // namespace ampc
