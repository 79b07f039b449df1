#include "graph/formats/pir/undo.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/formats/pir/origin.h"

namespace ampc::pir {
namespace {

constexpr absl::string_view kValues = "values=";

}  // namespace

std::string UndoOf(JsonRef op) { return op.Find(kUndoKey).AsString().value_or(""); }

paddle::VarUndo ValueUndo(absl::string_view undo, size_t i) {
  if (!absl::ConsumePrefix(&undo, kValues)) return {};
  const std::vector<absl::string_view> values = absl::StrSplit(undo.substr(0, undo.find(';')), ',');
  return i < values.size() ? paddle::DecodeVarUndo(absl::StrReplaceAll(values[i], {{"+", ";"}})) : paddle::VarUndo();
}

absl::string_view OpUndo(absl::string_view undo) {
  if (!absl::ConsumePrefix(&undo, kValues)) return undo;
  undo.remove_prefix(std::min(undo.find(';'), undo.size()));
  absl::ConsumePrefix(&undo, ";");
  return undo;
}

std::string EncodeUndo(const std::vector<paddle::VarUndo>& values, absl::string_view op) {
  std::vector<std::string> texts;
  for (const paddle::VarUndo& value : values) texts.push_back(absl::StrReplaceAll(paddle::EncodeVarUndo(value), {{";", "+"}}));
  while (!texts.empty() && texts.back().empty()) texts.pop_back();
  if (texts.empty()) return std::string(op);
  return absl::StrCat(kValues, absl::StrJoin(texts, ","), op.empty() ? "" : ";", op);
}

}  // namespace ampc::pir
