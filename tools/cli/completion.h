// Completion of the command line in shells, made from the declared verbs and options, so that it has exactly these.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace ampc {

// A script for `shell` ("bash", "zsh" or "fish") that completes the verbs of `app`, their options, and the values of options that have a
// list of them; every other value is the name of a file.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

}  // namespace ampc
