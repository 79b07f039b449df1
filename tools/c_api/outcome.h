// ampc_outcome: what calls give back besides sessions and results.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/memory_files.h"
#include "graph/program.h"
#include "runtime/convert/options.h"
#include "tools/c_api/ampc.h"

// A text that is made when it is asked for; null `make`: there is none.
struct ampc_text {
  std::function<std::string()> make;
  std::string text;
};

struct ampc_outcome {
  ampc::MemoryFiles files;
  std::string head;  // the name of the program among them
  std::vector<std::string> order;
  std::vector<std::string> notes;
  ampc_text json, report, page;
  std::shared_ptr<const ampc::Program> program;  // that was made
  std::vector<std::string> read;                 // files of the disk that its weights are in
};

namespace ampc::c_api {

// The callback of ConvertOptions that tells `callbacks`, which may be null.
std::function<bool(const ConvertProgress&)> ProgressOf(const ampc_callbacks* callbacks);
// The notes of `output` to callbacks->log; then gives it to the caller.
void Give(std::unique_ptr<ampc_outcome> outcome, const ampc_callbacks* callbacks, ampc_outcome** out);

}  // namespace ampc::c_api
