// ProgramExecutor: runs a whole program on inputs; passes measure with it, the runtime implements it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/program.h"

namespace ampc {

class ProgramExecutor {
 public:
  virtual ~ProgramExecutor() = default;
  // Runs `program` as it is, without fusion, once on each of `inputs`, files with the feeds of one run, and gives all float32 values of the runs,
  // feeds too, by exported name. A value of a loop comes once an iteration. Errors name the file.
  using OnValue = std::function<void(absl::string_view name, absl::Span<const float> values)>;
  virtual absl::Status Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const = 0;
};

}  // namespace ampc
