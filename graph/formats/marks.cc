#include "graph/formats/marks.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/implicit_cast.h"

namespace ampc {
namespace {

constexpr absl::string_view kConverts = "converts";
constexpr absl::string_view kFp32 = "fp32=";
constexpr absl::string_view kOptions = "options=";

absl::string_view NextOpMark(absl::string_view* text) { return NextMark(absl::StartsWith(*text, kOptions) ? kOptions : kFp32, text); }

}  // namespace

void AddMark(absl::string_view entry, std::string* text) { absl::StrAppend(text, text->empty() ? "" : ";", entry); }

absl::string_view WasName(DType dtype) { return dtype == DType::kInvalid ? absl::string_view("-") : Name(dtype); }

DType WasDType(absl::string_view name) {
  const std::optional<DType> dtype = ParseDType(name);
  return dtype.value_or(DType::kInvalid);
}

absl::string_view NextMark(absl::string_view rest_key, absl::string_view* text) {
  const size_t end = absl::StartsWith(*text, rest_key) ? text->size() : std::min(text->find(';'), text->size());
  const absl::string_view entry = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return entry;
}

std::string EncodeMarks(const OpMarks& marks, bool converts) {
  std::string out;
  if (converts) AddMark(kConverts, &out);
  if (marks.amp == AmpMark::kInserted) AddMark(marks.amp_reason == kListedCast ? kListedCast : "inserted", &out);
  if (marks.guard != 0) AddMark(absl::StrCat("guard=", marks.guard), &out);
  for (const auto& [attr, dtype] : marks.was) AddMark(absl::StrCat("was.", attr, "=", WasName(dtype)), &out);
  if (marks.amp == AmpMark::kFp32) AddMark(absl::StrCat(kFp32, marks.amp_reason), &out);
  if (marks.amp == AmpMark::kNone && !marks.amp_reason.empty()) AddMark(absl::StrCat(kOptions, marks.amp_reason), &out);
  return out;
}

OpMarks DecodeMarks(absl::string_view text) {
  OpMarks marks;
  while (!text.empty()) {
    absl::string_view entry = NextOpMark(&text);
    if (entry == "inserted") {
      marks.amp = AmpMark::kInserted;
    } else if (entry == kListedCast) {
      marks.amp = AmpMark::kInserted;
      marks.amp_reason = std::string(kListedCast);
    } else if (absl::ConsumePrefix(&entry, "guard=")) {
      if (!absl::SimpleAtoi(entry, &marks.guard)) marks.guard = 0;
    } else if (absl::ConsumePrefix(&entry, kFp32)) {
      marks.amp = AmpMark::kFp32;
      marks.amp_reason = std::string(entry);
    } else if (absl::ConsumePrefix(&entry, kOptions)) {
      if (marks.amp == AmpMark::kNone) marks.amp_reason = std::string(entry);
    } else if (absl::ConsumePrefix(&entry, "was.")) {
      const size_t equals = entry.rfind('=');
      if (equals == absl::string_view::npos) continue;
      marks.was.emplace_back(std::string(entry.substr(0, equals)), WasDType(entry.substr(equals + 1)));
    }
  }
  return marks;
}

bool Converts(absl::string_view text) {
  while (!text.empty()) {
    if (NextOpMark(&text) == kConverts) return true;
  }
  return false;
}

}  // namespace ampc
