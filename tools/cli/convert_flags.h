// The options of `ampc convert`: what they are called, what they say, and which belong together.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/convert_model.h"
#include "tools/cli/options.h"

namespace ampc {

struct ConvertFlags {
  ConvertRequest request;
  std::string dtype = "fp16";
  std::string compat;
  std::vector<std::string> keep_io, low_io;  // "true" for the option alone, else names
  std::vector<std::string> calibrate;
  std::string config, write_config;
  std::string report;
  std::string plan;
  bool json = false;
};

// Declares the options; `flags` has to outlive them.
void AddConvertOptions(const Options& options, ConvertFlags& flags);

// After parsing, on the same `flags`: reads --config, checks what belongs together and fills in what the request takes from
// several options. Usage errors; exit code 3 for a bad config file, 4 for options that are known and not supported.
absl::Status ResolveConvertFlags(const Options& options, ConvertFlags& flags);

}  // namespace ampc
