#include "runtime/convert/made_with.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "passes/option_text.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"
#include "passes/pipelines.h"

namespace ampc {
namespace {

using Entries = std::map<std::string, std::string, std::less<>>;

// f(name, value, option that chooses it) for all that decide, in the order of the text.
template <typename Options, typename F>
void ForEachChoice(Options& options, F&& f) {
  for (const ConvertOption& option : ConvertOptionTable()) {
    if (option.scope != OptionScope::kDecides) continue;
    const char* chosen_by = *option.chosen_by == '\0' ? option.name : option.chosen_by;
    std::visit([&](auto member) { f(option.name, options.*member, chosen_by); }, option.member);
  }
}

std::string ToText(DType value) { return DTypeWord(value); }
std::string ToText(bool value) { return value ? "true" : "false"; }
std::string ToText(int value) { return absl::StrCat(value); }
std::string ToText(const std::string& value) { return EscapeItem(value); }
std::string ToText(const std::vector<std::string>& value) { return JoinItems(value); }

void FromText(absl::string_view text, DType& value) { value = text == "bf16" ? DType::kBF16 : DType::kF16; }
void FromText(absl::string_view text, bool& value) { value = text == "true"; }
void FromText(absl::string_view text, int& value) {
  if (!absl::SimpleAtoi(text, &value)) value = 0;
}
void FromText(absl::string_view text, std::string& value) { value = UnescapeItem(text); }
void FromText(absl::string_view text, std::vector<std::string>& value) { value = SplitItems(text); }

Entries Parse(absl::string_view text) {
  Entries out;
  for (absl::string_view entry : absl::StrSplit(text, ';', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    out.emplace(parts.first, parts.second);
  }
  return out;
}

bool Given(const ConvertOptions& options, absl::string_view option) {
  return !options.given.has_value() || options.given->contains(std::string(option));
}

// The low type that a conversion gave the program's values; kInvalid for none.
DType LowTypeOf(const Program& program) {
  DType low = DType::kInvalid;
  ForEachVar(program, [&low](const Var& var) {
    if (low == DType::kInvalid && var.was == DType::kF32 && IsLowPrecision(var.type.dtype)) low = var.type.dtype;
  });
  return low;
}

absl::Status Contradiction(absl::string_view input, absl::string_view option, absl::string_view now, absl::string_view then) {
  const auto shown = [option](absl::string_view value) {
    if (value.empty() || value == "false" || value == "own") return absl::StrCat("without --", option);
    return absl::StrCat("with --", option, value == "true" ? "" : absl::StrCat("=", UnescapeItem(value)));
  };
  return UsageError(absl::StrCat(input, " was converted ", shown(then), ", converting it again ", shown(now),
                                 " contradicts that: the original is needed, or what `ampc strip` makes of this model"));
}

}  // namespace

std::string MadeWith(const ConvertOptions& options) {
  Entries defaults;
  const ConvertOptions untouched;
  ForEachChoice(untouched, [&](const char* name, const auto& value, const char*) { defaults[name] = ToText(value); });
  std::string out;
  ForEachChoice(options, [&](absl::string_view name, const auto& value, const char*) {
    const std::string text = ToText(value);
    if (name != "dtype" && name != "level" && text == defaults.find(name)->second) return;
    absl::StrAppend(&out, out.empty() ? "" : ";", name, "=", text);
  });
  return out;
}

absl::StatusOr<bool> KeepsConversion(const Program& program, ConvertOptions* options) {
  if (!IsConverted(program)) return false;
  const Entries made = Parse(ConversionOptions(program));
  const bool any = !options->given.has_value() || !options->given->empty();
  if (made.empty()) {
    const DType low = LowTypeOf(program);
    if (low == DType::kInvalid) return !any;
    if (Given(*options, "dtype") && low != options->dtype) {
      return Contradiction(options->model, "dtype", ToText(options->dtype), ToText(low));
    }
    options->dtype = low;
    return !any;
  }
  absl::Status status;
  ConvertOptions then;  // the defaults, for what the text leaves out
  ForEachChoice(then, [&](const char* name, auto& value, const char*) {
    if (const auto it = made.find(name); it != made.end()) FromText(it->second, value);
  });
  Entries texts;
  ForEachChoice(then, [&](const char* name, const auto& value, const char*) { texts[name] = ToText(value); });
  ForEachChoice(*options, [&](const char* name, auto& value, const char* option) {
    const std::string& before = texts[name];
    if (Given(*options, option) && status.ok() && ToText(value) != before) {
      status = Contradiction(options->model, option, ToText(value), before);
    }
    FromText(before, value);
  });
  AMPC_RETURN_IF_ERROR(status);
  return true;
}

absl::Status BlameMarks(const std::string& path, const absl::Status& status) {
  if (ExitCodeOf(status) != ExitCode::kInternal) return status;
  return BadInputError(absl::StrCat(path, ": was converted before, and its marks of that contradict each other: ", status.message()));
}

absl::Status CheckMarks(const Program& program, const std::string& path) {
  Program copy = program.Clone();
  PassContext ctx;
  return BlameMarks(path, RunPipeline(StripPipeline(true), {}, ctx, copy));
}

}  // namespace ampc
