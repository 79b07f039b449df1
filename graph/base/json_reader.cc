#include "graph/base/json_reader.h"

#include <algorithm>
#include <charconv>

#include "graph/base/json_tape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

void Build(const JsonTape& tape, uint32_t at, JsonValue* value) {
  const std::vector<JsonTape::Node>& nodes = tape.nodes();
  const JsonTape::Node& node = nodes[at];
  value->kind = static_cast<JsonValue::Kind>(node.kind);
  switch (node.kind) {
    case JsonKind::kNull: return;
    case JsonKind::kBool: value->boolean = tape.text()[node.begin] == 't'; return;
    case JsonKind::kNumber: value->text = std::string(tape.text().substr(node.begin, node.end - node.begin)); return;
    case JsonKind::kString: value->text = tape.StringOf(node); return;
    case JsonKind::kArray:
      for (uint32_t item = at + 1; item < node.next; item = nodes[item].next) Build(tape, item, &value->items.emplace_back());
      return;
    case JsonKind::kObject:
      for (uint32_t key = at + 1; key < node.next; key = nodes[key + 1].next) {
        JsonValue::Member& member = value->members.emplace_back();
        member.key = tape.StringOf(nodes[key]);
        Build(tape, key + 1, &member.value);
      }
  }
}

}  // namespace

std::optional<int64_t> JsonValue::AsInt() const {
  int64_t value = 0;
  if (kind != Kind::kNumber) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> JsonValue::AsDouble() const {
  double value = 0;
  if (kind != Kind::kNumber) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

const JsonValue* JsonValue::Find(absl::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

absl::string_view Name(JsonValue::Kind kind) {
  constexpr absl::string_view kNames[] = {"null", "boolean", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

absl::StatusOr<JsonValue> ParseJson(absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(const JsonTape tape, JsonTape::Parse(text));
  JsonValue value;
  Build(tape, 0, &value);
  return value;
}

}  // namespace ampc
