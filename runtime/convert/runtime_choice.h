// Checks and notes about the runtime that a conversion is for (passes/analysis/runtimes.h).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"

namespace ampc {

// A usage error where `runtime` does not read models of the program's format. `model` is its file.
absl::Status CheckRuntime(absl::string_view runtime, absl::string_view model, const Program& program);

// Adds what the runtime does with the decision by itself, and a table that nobody verified.
void NoteRuntime(absl::string_view runtime, const Program& program, const AmpDecision& decision, std::vector<std::string>* notes);

}  // namespace ampc
