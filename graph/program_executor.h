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
  // Runs `program` as it is, without fusion, once on each of `inputs`, files with the feeds of one run, and gives all float32 values of the
  // runs, feeds too, by exported name. A value of a loop comes once an iteration. Errors name the file.
  using OnValue = std::function<void(absl::string_view name, absl::Span<const float> values)>;
  virtual absl::Status Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const = 0;

  // The same on made inputs, `runs` times. There are several choices of the dims that the program leaves open; an error may come from a
  // choice that does not fit, after values of it were given. Which choice counts from 0; the last one says so.
  struct Made {
    std::vector<std::string> kinds;  // what was made, a text for each feed
    std::string left_out;            // why nothing was run: the program is too large for that
    bool last = false;
  };
  virtual absl::Status RunOnMade(const Program& program, int runs, int choice, const OnValue& on_value, Made* made) const = 0;
};

}  // namespace ampc
