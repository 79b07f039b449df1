// Completion of the command line in shells, made from the declared verbs and options, so that it has exactly these.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/options.h"

namespace ampc {

// The values of an option whose declaration has no list of them.
struct CompletionValues {
  std::string verb, option;  // "opt", "--passes"; "train", "network"
  std::vector<std::string> words;
  bool files = false;  // names of files, too
  bool list = false;   // several words, separated by commas
};

// A script for `shell` ("bash", "zsh" or "fish") that completes the verbs of the command that `verb` belongs to, their options, and the
// values of options that have a list of them, declared or in `values`; every other value is the name of a file.
std::string CompletionScript(const Options& verb, const std::string& shell, const std::vector<CompletionValues>& values = {});

}  // namespace ampc
