// Completion of the command line in shells, made from the declared verbs and options, so that it has exactly these.
#pragma once

#include <string>

#include "tools/cli/options.h"

namespace ampc {

// A script for `shell` ("bash", "zsh" or "fish") that completes the verbs of the command that `verb` belongs to, their options, and the values
// of options that have a list of them; every other value is the name of a file.
std::string CompletionScript(const Options& verb, const std::string& shell);

}  // namespace ampc
