// The options of `ampc tune`.
#pragma once

#include "absl/status/status.h"
#include "runtime/tune/tune.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/options.h"

namespace ampc {

struct TuneFlags {
  ConvertFlags convert;
  TuneOptions tune;
  bool random = false;
  int runs = 5;
};

// Declares the options; `flags` has to outlive them.
void AddTuneOptions(const Options& options, TuneFlags& flags);
// Makes `flags.tune` of what was given. UsageError for options that contradict.
absl::Status ResolveTuneFlags(const Options& options, TuneFlags& flags);

}  // namespace ampc
