#include "graph/formats/paddle/undo.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/formats/marks.h"

namespace ampc::paddle {
std::string EncodeVarUndo(const VarUndo& undo) {
  std::string out;
  if (std::any_of(undo.was.begin(), undo.was.end(), [](DType t) { return t != DType::kInvalid; })) {
    const bool same = std::all_of(undo.was.begin(), undo.was.end(), [&undo](DType t) { return t == undo.was[0]; });
    std::string list;
    for (size_t i = 0; i < (same ? 1 : undo.was.size()); ++i) absl::StrAppend(&list, i == 0 ? "" : ",", WasName(undo.was[i]));
    AddMark(absl::StrCat("was=", list), &out);
  }
  if (undo.frozen) AddMark("frozen", &out);
  if (!undo.as.empty()) AddMark(absl::StrCat("as=", undo.as), &out);
  return out;
}

VarUndo DecodeVarUndo(absl::string_view text) {
  VarUndo undo;
  while (!text.empty()) {
    absl::string_view entry = NextMark("as=", &text);
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
