#include "tools/cli/made_with.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"
#include "passes/pipelines.h"

namespace ampc {
namespace {

using Entries = std::map<std::string, std::string, std::less<>>;

// f(name, value, option that sets it) for all of them, in the order of the text.
template <typename Request, typename F>
void ForEachChoice(Request& request, F&& f) {
  auto& o = request.options;
  f("dtype", o.dtype, "dtype");
  f("level", o.level, "level");
  f("compat", o.mode, "compat");
  f("low-io", o.low_io, "low-io");
  f("keep-io", o.keep_io, "keep-io");
  f("low-io-names", o.low_io_names, "low-io");
  f("guard", o.guard, "guard");
  f("promote", o.promote, "promote");
  f("white-list", o.white_list, "white-list");
  f("black-list", o.black_list, "black-list");
  f("black-vars", o.black_vars, "black-vars");
  f("classes", o.classes, "classes");
  f("include", o.include, "include");
  f("exclude", o.exclude, "exclude");
  f("on-overflow", o.on_overflow, "on-overflow");
  f("on-tiny", o.on_tiny, "on-tiny");
  f("target", request.target, "target");
  f("ranges", request.ranged, "ranges");
}

std::string Escape(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == ',' || c == ';' || absl::ascii_iscntrl(c)) {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '%' && i + 2 < text.size() && absl::SimpleHexAtoi(text.substr(i + 1, 2), &code)) {
      out.push_back(static_cast<char>(code));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string ToText(DType value) { return value == DType::kBF16 ? "bf16" : "fp16"; }
std::string ToText(bool value) { return value ? "true" : "false"; }
std::string ToText(const std::string& value) { return Escape(value); }
std::string ToText(const std::vector<std::string>& value) {
  std::string out;
  for (const std::string& item : value) absl::StrAppend(&out, out.empty() ? "" : ",", Escape(item));
  return out;
}

void FromText(absl::string_view text, DType& value) { value = text == "bf16" ? DType::kBF16 : DType::kF16; }
void FromText(absl::string_view text, bool& value) { value = text == "true"; }
void FromText(absl::string_view text, std::string& value) { value = Unescape(text); }
void FromText(absl::string_view text, std::vector<std::string>& value) {
  value.clear();
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) value.push_back(Unescape(item));
}

Entries Parse(absl::string_view text) {
  Entries out;
  for (absl::string_view entry : absl::StrSplit(text, ';', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    out.emplace(parts.first, parts.second);
  }
  return out;
}

bool Given(const ConvertRequest& request, absl::string_view option) {
  return !request.given.has_value() || request.given->contains(std::string(option));
}

// The type that a conversion lowered the program's values to; kInvalid for none.
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
    return absl::StrCat("with --", option, value == "true" ? "" : absl::StrCat("=", Unescape(value)));
  };
  return UsageError(absl::StrCat(input, " was converted ", shown(then), ", converting it again ", shown(now),
                                 " contradicts that: the original is needed, or what `ampc strip` makes of this model"));
}

}  // namespace

std::string MadeWith(const ConvertRequest& request) {
  Entries defaults;
  const ConvertRequest untouched;
  ForEachChoice(untouched, [&](const char* name, const auto& value, const char*) { defaults[name] = ToText(value); });
  std::string out;
  ForEachChoice(request, [&](absl::string_view name, const auto& value, const char*) {
    const std::string text = ToText(value);
    if (name != "dtype" && name != "level" && text == defaults.find(name)->second) return;
    absl::StrAppend(&out, out.empty() ? "" : ";", name, "=", text);
  });
  return out;
}

absl::StatusOr<bool> KeepsConversion(const Program& program, ConvertRequest* request) {
  if (!IsConverted(program)) return false;
  const Entries made = Parse(ConversionOptions(program));
  const bool any = !request->given.has_value() || !request->given->empty();
  if (made.empty()) {
    const DType low = LowTypeOf(program);
    if (low == DType::kInvalid) return !any;
    if (Given(*request, "dtype") && low != request->options.dtype) {
      return Contradiction(request->input, "dtype", ToText(request->options.dtype), ToText(low));
    }
    request->options.dtype = low;
    return !any;
  }
  absl::Status status;
  ConvertRequest then;  // the defaults, for what the text leaves out
  ForEachChoice(then, [&](const char* name, auto& value, const char*) {
    if (const auto it = made.find(name); it != made.end()) FromText(it->second, value);
  });
  Entries texts;
  ForEachChoice(then, [&](const char* name, const auto& value, const char*) { texts[name] = ToText(value); });
  ForEachChoice(*request, [&](const char* name, auto& value, const char* option) {
    const std::string& before = texts[name];
    if (Given(*request, option) && status.ok() && ToText(value) != before) {
      status = Contradiction(request->input, option, ToText(value), before);
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
