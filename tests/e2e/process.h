// Programs of this repository as their users run them: a process of its own, in a folder of its own.
#pragma once

#include <string>
#include <vector>

namespace ampc::testing {

struct Outcome {
  int code = 0;  // exit status; 128 + signal where a signal ended it
  std::string out, err;
};

// Runs `binary` (a path in the runfiles, such as "tools/ampc") in `folder`, which is also its working directory; `extra_env` are
// NAME=VALUE settings beside the caller's environment. Code 127 when it cannot be started.
Outcome RunProcess(const std::string& binary, const std::vector<std::string>& args, const std::string& folder,
                   const std::vector<std::string>& extra_env = {});

}  // namespace ampc::testing
