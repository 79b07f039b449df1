#include "passes/make_pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

class FunctionPass : public Pass {
 public:
  explicit FunctionPass(PassBody body) : body_(std::move(body)) {}
  absl::StatusOr<bool> Run(PassContext& ctx, Program& program) override { return body_(ctx, program); }

 private:
  PassBody body_;
};

absl::Status BadOption(absl::string_view name, absl::string_view value, absl::string_view needs) {
  return UsageError(absl::StrCat("option ", name, " is '", value, "', needs ", needs));
}

}  // namespace

std::unique_ptr<Pass> MakePass(PassBody body) { return std::make_unique<FunctionPass>(std::move(body)); }

PassInfo SimplePass(std::string name, std::string summary, PassBody body) {
  PassInfo info;
  info.name = std::move(name);
  info.summary = std::move(summary);
  info.make = [body = std::move(body)](const PassOptions&) -> absl::StatusOr<std::unique_ptr<Pass>> { return MakePass(body); };
  return info;
}

absl::StatusOr<bool> BoolOption(const PassOptions& options, absl::string_view name, bool fallback) {
  auto it = options.find(name);
  if (it == options.end()) return fallback;
  if (it->second == "true" || it->second.empty()) return true;
  if (it->second == "false") return false;
  return BadOption(name, it->second, "true or false");
}

absl::StatusOr<DType> LowDTypeOption(const PassOptions& options, absl::string_view name, DType fallback) {
  auto it = options.find(name);
  if (it == options.end()) return fallback;
  const std::optional<DType> dtype = ParseDType(it->second);
  if (dtype.has_value() && IsLowPrecision(*dtype)) return *dtype;
  return BadOption(name, it->second, "f16 or bf16");
}

absl::StatusOr<std::string> ChoiceOption(const PassOptions& options, absl::string_view name, absl::Span<const absl::string_view> choices,
                                         absl::string_view fallback) {
  auto it = options.find(name);
  if (it == options.end()) return std::string(fallback);
  for (absl::string_view choice : choices) {
    if (it->second == choice) return it->second;
  }
  return BadOption(name, it->second, absl::StrCat("one of ", absl::StrJoin(choices, ", ")));
}

std::vector<std::string> ListOption(const PassOptions& options, absl::string_view name) {
  auto it = options.find(name);
  if (it == options.end()) return {};
  return absl::StrSplit(it->second, absl::ByAnyChar(", "), absl::SkipEmpty());
}

}  // namespace ampc
