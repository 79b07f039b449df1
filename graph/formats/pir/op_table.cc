#include "graph/formats/pir/op_table.h"

#include <algorithm>

#include "absl/strings/str_split.h"

namespace ampc::pir {
namespace {

constexpr absl::string_view kTable =
#include "graph/formats/pir/op_table.inc"
    ;

OperandRow ParseOperand(absl::string_view text) {
  OperandRow row;
  if (text == "-") {
    row.ignored = true;
  } else if (text[0] != '@') {
    row.slot = std::string(text);
  } else {
    const std::vector<std::string> parts = absl::StrSplit(text.substr(1), '/');
    row.attr = parts[0];
    if (parts.size() > 1 && parts[1] != "-") row.slot = parts[1];
    if (parts.size() > 2) row.list_slot = parts[2];
  }
  return row;
}

AttrRow ParseAttr(absl::string_view text) {
  AttrRow row;
  const size_t colon = text.find(':');
  const std::pair<absl::string_view, absl::string_view> names = absl::StrSplit(text.substr(0, colon), absl::MaxSplits('>', 1));
  row.name = std::string(names.first);
  row.attr = std::string(names.second.empty() ? names.first : names.second);
  row.kind = text[colon + 1];
  row.required = text.size() == colon + 2;
  if (!row.required) row.value = std::string(text.substr(colon + 3));
  return row;
}

std::vector<OpRow> ParseTable() {
  std::vector<OpRow> rows;
  for (const absl::string_view line : absl::StrSplit(kTable, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> columns = absl::StrSplit(line, '|');
    OpRow& row = rows.emplace_back();
    row.name = std::string(columns[0]);
    row.native = std::string(columns[1]);
    for (const absl::string_view text : absl::StrSplit(columns[2], ' ', absl::SkipEmpty())) row.operands.push_back(ParseOperand(text));
    for (const absl::string_view text : absl::StrSplit(columns[3], ' ', absl::SkipEmpty())) row.attrs.push_back(ParseAttr(text));
    for (const absl::string_view text : absl::StrSplit(columns[4], ' ', absl::SkipEmpty())) row.results.emplace_back(text);
    const auto unnamed = [](const std::string& slot) { return slot == "?"; };
    row.named = std::none_of(row.results.begin(), row.results.end(), unnamed) &&
                std::none_of(row.operands.begin(), row.operands.end(), [&](const OperandRow& operand) { return unnamed(operand.slot); });
  }
  std::sort(rows.begin(), rows.end(), [](const OpRow& a, const OpRow& b) { return a.name < b.name; });
  return rows;
}

}  // namespace

const AttrRow* OpRow::FindAttr(absl::string_view attr) const {
  const auto found = std::find_if(attrs.begin(), attrs.end(), [attr](const AttrRow& row) { return row.name == attr; });
  return found == attrs.end() ? nullptr : &*found;
}

const std::vector<OpRow>& AllRows() {
  static const std::vector<OpRow>& rows = *new std::vector<OpRow>(ParseTable());
  return rows;
}

const OpRow* FindRow(absl::string_view name) {
  const std::vector<OpRow>& rows = AllRows();
  const auto found = std::lower_bound(rows.begin(), rows.end(), name, [](const OpRow& row, absl::string_view n) { return row.name < n; });
  return found == rows.end() || found->name != name ? nullptr : &*found;
}

}  // namespace ampc::pir
