// The options of `ampc convert`: what they are called, what they say, and which belong together.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.h"
#include "tools/cli/convert_model.h"

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

// Declares the options on `app`; `flags` has to outlive it.
void AddConvertOptions(CLI::App& app, ConvertFlags& flags);

// After parsing, on the same `flags`: reads --config, checks what belongs together and fills in what the request takes from
// several options. Usage errors; exit code 3 for a bad config file, 4 for options that are known and not supported.
absl::Status ResolveConvertFlags(CLI::App& app, ConvertFlags& flags);

}  // namespace ampc
