// Strip: the fp32 program back from a converted one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/convert/model_facts.h"
#include "runtime/convert/options.h"

namespace ampc {

struct StripOptions {
  std::string model = {}, output = {};
  std::string params = {};                        // file with the weights, "" beside the program
  std::string weights = {}, weights_params = {};  // a model to take the exact weights from; "": they are widened from what is stored
  bool program_only = false;
  bool no_sync = false;
  const MemoryFiles* from = nullptr;  // as those of ConvertOptions; `weights`, too
  MemoryFiles* into = nullptr;
  std::function<bool(const ConvertProgress&)> progress = nullptr;
};

struct StripResult {
  ModelFacts before, after;
  std::vector<std::string> notes;
  std::shared_ptr<const Program> program;
};

// Errors leave no output behind. Exit codes as Convert's.
absl::StatusOr<StripResult> Strip(const StripOptions& options);

// `ampc strip --json`.
std::string StripJson(const std::string& model, const std::string& output, const StripResult& result);

}  // namespace ampc
