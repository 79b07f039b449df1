// Helpers for writing passes: a pass from a function, and typed options.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/pass.h"

namespace ampc {

using PassBody = std::function<absl::StatusOr<bool>(PassContext&, Program&)>;

std::unique_ptr<Pass> MakePass(PassBody body);
// A pass without options.
PassInfo SimplePass(std::string name, std::string summary, PassBody body);

// Options by name; `fallback` when absent. A value that does not parse is a usage error that names the option and what it takes.
absl::StatusOr<bool> BoolOption(const PassOptions& options, absl::string_view name, bool fallback);
absl::StatusOr<DType> LowDTypeOption(const PassOptions& options, absl::string_view name, DType fallback);  // f16 or bf16
absl::StatusOr<std::string> ChoiceOption(const PassOptions& options, absl::string_view name, absl::Span<const absl::string_view> choices,
                                         absl::string_view fallback);
// Comma-separated words; empty when absent.
std::vector<std::string> ListOption(const PassOptions& options, absl::string_view name);

}  // namespace ampc
