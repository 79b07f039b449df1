// A verb of the command line: its options and what it does.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tools/cli/console.h"
#include "tools/cli/options.h"

namespace ampc {

// The function that runs after the command line was parsed. A status carries the exit code (graph/base/error.h); its message is printed,
// unless it is empty because the result says it.
using Action = std::function<absl::Status(Console&)>;

struct Command {
  std::string name;
  std::string summary;   // one line
  std::string examples;  // indented lines for the end of --help
  // Declares the options and returns the action; their values live in what the action captures.
  std::function<Action(Options options)> setup;
};

// The forms of the argument `model`.
inline constexpr char kTunePlansHelp[] =
    "measure which implementation of each convolution and product is the fastest here, keep it in this JSON file, and use what it knows";
inline constexpr char kModelHelp[] = "a .pdmodel, .json, .onnx, .ampc or .prog file, or a folder with __model__ or inference.json";

// `--json` on every verb that prints a result.
void AddJsonFlag(const Options& options, bool* json);

}  // namespace ampc
