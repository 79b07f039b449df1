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
  bool keep_io = false;
  std::vector<std::string> include, calibrate;
  std::string report;
  std::string plan;
  bool json = false;
};

// Declares the options on `app`; `flags` has to outlive it.
void AddConvertOptions(CLI::App& app, ConvertFlags& flags);

// After parsing: checks what belongs together and fills in what the request takes from several options. Usage errors; exit
// code 4 for options that are known and not supported.
absl::Status ResolveConvertFlags(ConvertFlags& flags);

}  // namespace ampc
