#include "graph/formats/paddle/undo.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/implicit_cast.h"

namespace ampc::paddle {
namespace {

constexpr absl::string_view kConverts = "converts";

void AddEntry(absl::string_view entry, std::string* out) { absl::StrAppend(out, out->empty() ? "" : ";", entry); }

absl::string_view WasName(DType dtype) { return dtype == DType::kInvalid ? absl::string_view("-") : Name(dtype); }

DType WasDType(absl::string_view name) {
  const std::optional<DType> dtype = ParseDType(name);
  return dtype.value_or(DType::kInvalid);
}

// Takes the next entry off `text`; an entry starting with `rest_key` takes all that is left.
absl::string_view NextEntry(absl::string_view rest_key, absl::string_view* text) {
  const size_t end = absl::StartsWith(*text, rest_key) ? text->size() : std::min(text->find(';'), text->size());
  const absl::string_view entry = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return entry;
}

}  // namespace

std::string EncodeMarks(const OpMarks& marks, bool converts) {
  std::string out;
  if (converts) AddEntry(kConverts, &out);
  if (marks.amp == AmpMark::kInserted) AddEntry(marks.amp_reason == kListedCast ? kListedCast : "inserted", &out);
  if (marks.guard != 0) AddEntry(absl::StrCat("guard=", marks.guard), &out);
  for (const auto& [attr, dtype] : marks.was) AddEntry(absl::StrCat("was.", attr, "=", WasName(dtype)), &out);
  if (marks.amp == AmpMark::kFp32) AddEntry(absl::StrCat("fp32=", marks.amp_reason), &out);
  return out;
}

OpMarks DecodeMarks(absl::string_view text) {
  OpMarks marks;
  while (!text.empty()) {
    absl::string_view entry = NextEntry("fp32=", &text);
    if (entry == "inserted") {
      marks.amp = AmpMark::kInserted;
    } else if (entry == kListedCast) {
      marks.amp = AmpMark::kInserted;
      marks.amp_reason = std::string(kListedCast);
    } else if (absl::ConsumePrefix(&entry, "guard=")) {
      if (!absl::SimpleAtoi(entry, &marks.guard)) marks.guard = 0;
    } else if (absl::ConsumePrefix(&entry, "fp32=")) {
      marks.amp = AmpMark::kFp32;
      marks.amp_reason = std::string(entry);
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
    if (NextEntry("fp32=", &text) == kConverts) return true;
  }
  return false;
}

std::string EncodeVarUndo(const VarUndo& undo) {
  std::string out;
  if (std::any_of(undo.was.begin(), undo.was.end(), [](DType t) { return t != DType::kInvalid; })) {
    const bool same = std::all_of(undo.was.begin(), undo.was.end(), [&undo](DType t) { return t == undo.was[0]; });
    std::string list;
    for (size_t i = 0; i < (same ? 1 : undo.was.size()); ++i) absl::StrAppend(&list, i == 0 ? "" : ",", WasName(undo.was[i]));
    AddEntry(absl::StrCat("was=", list), &out);
  }
  if (undo.frozen) AddEntry("frozen", &out);
  if (!undo.as.empty()) AddEntry(absl::StrCat("as=", undo.as), &out);
  return out;
}

VarUndo DecodeVarUndo(absl::string_view text) {
  VarUndo undo;
  while (!text.empty()) {
    absl::string_view entry = NextEntry("as=", &text);
    if (absl::ConsumePrefix(&entry, "was=")) {
      for (const absl::string_view name : absl::StrSplit(entry, ',')) undo.was.push_back(WasDType(name));
    } else if (entry == "frozen") {
      undo.frozen = true;
    } else if (absl::ConsumePrefix(&entry, "as=")) {
      undo.as = std::string(entry);
    }
  }
  return undo;
}

}  // namespace ampc::paddle
