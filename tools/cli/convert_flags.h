// The options of `ampc convert` as a command line has them: declared from the table in runtime/convert/options.h.
#pragma once

#include <string>
#include <vector>

#include "runtime/convert/options.h"
#include "tools/cli/options.h"

namespace ampc {

struct ConvertFlags {
  ConvertOptions options;
  std::string dtype = "fp16";
  std::vector<std::string> keep_io, low_io;  // "true" for the option alone, else names
  std::string config;
  bool json = false;
};

// Those of `ampc explain`.
struct ExplainFlags {
  ConvertFlags convert;
  std::vector<std::string> ops;  // selectors
  std::string cast;
};

// Declares the options; `flags` has to outlive them. Those of explain are the ones that decide, and two of its own.
void AddConvertOptions(const Options& options, ConvertFlags& flags);
void AddDecidingOptions(const Options& options, ConvertFlags& flags);
void AddExplainOptions(const Options& options, ExplainFlags& flags);

// After parsing, on the same `flags`: reads --config and fills in what `flags.options` takes from several options. Usage errors; exit code
// 3 for a bad config file, 4 for options that are known and not supported. `inputs`: files of feeds besides those of --calibrate.
absl::Status ResolveConvertFlags(const Options& options, ConvertFlags& flags, std::vector<std::string> inputs = {});

}  // namespace ampc
