#include "graph/ops/onnx/schema.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

struct Row {
  const char* type;
  int since;
  const char* formals;
  const char* types;
  const char* attrs;
};
constexpr Row kRows[] = {
#include "graph/ops/onnx/schemas.inc"
};

TypeSet ParseTypes(absl::string_view text) {
  TypeSet set = 0;
  for (absl::string_view name : absl::StrSplit(text, '|')) {
    const std::optional<DType> dtype = ParseDType(name == "b" ? "bool" : name);
    set |= dtype.has_value() ? Bit(*dtype) : kOtherTypes;
  }
  return set;
}

int ToInt(absl::string_view text) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value)) std::abort();  // the table is broken, which every test meets
  return value;
}

std::vector<Formal> ParseFormals(absl::string_view text) {
  std::vector<Formal> formals;
  for (absl::string_view item : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(item, absl::MaxSplits(':', 1));
    Formal formal;
    formal.name = std::string(parts.first);
    absl::string_view type = parts.second;
    formal.optional = type.back() == '?';
    formal.heterogeneous = type.back() == '#';
    formal.variadic = type.back() == '*' || formal.heterogeneous;
    if (formal.optional || formal.variadic) type.remove_suffix(1);
    formal.type = ToInt(type);
    formals.push_back(std::move(formal));
  }
  return formals;
}

template <typename T>
std::vector<T> ParseList(absl::string_view text) {
  std::vector<T> values;
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if constexpr (std::is_same_v<T, std::string>) {
      values.emplace_back(item);
    } else {
      double value = 0;
      if (!absl::SimpleAtod(item, &value)) std::abort();  // as in ToInt
      values.push_back(static_cast<T>(value));
    }
  }
  return values;
}

AttrValue ParseValue(char kind, absl::string_view text) {
  float number = 0;
  switch (kind) {
    case 'f': return absl::SimpleAtof(text, &number) ? number : 0.0f;
    case 'i': return int64_t{text.empty() ? 0 : ToInt(text)};
    case 's': return std::string(text);
    case 'd': return text.empty() ? DType::kInvalid : DTypeOfNumber(ToInt(text));
    case 'g': return BlockRef();
    case 't': return Scalar();
    case 'F': return ParseList<float>(text);
    case 'I': return ParseList<int64_t>(text);
    case 'S': return ParseList<std::string>(text);
    default: return false;
  }
}

std::vector<FormalAttr> ParseAttrs(absl::string_view text) {
  std::vector<FormalAttr> attrs;
  for (absl::string_view item : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t colon = item.find(':');
    FormalAttr attr;
    attr.name = std::string(item.substr(0, colon));
    attr.kind = item[colon + 1];
    absl::string_view rest = item.substr(colon + 2);
    attr.required = rest == "!";
    attr.has_default = !rest.empty() && rest[0] == '=';
    attr.value = ParseValue(attr.kind, attr.has_default ? rest.substr(1) : "");
    attrs.push_back(std::move(attr));
  }
  return attrs;
}

std::vector<Schema> Parse() {
  std::vector<Schema> schemas;
  schemas.reserve(std::size(kRows));
  for (const Row& row : kRows) {
    Schema schema;
    schema.type = row.type;
    schema.since = std::abs(row.since);
    schema.deprecated = row.since < 0;
    const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(row.formals, '>');
    schema.inputs = ParseFormals(sides.first);
    schema.outputs = ParseFormals(sides.second);
    for (absl::string_view set : absl::StrSplit(row.types, ' ', absl::SkipEmpty())) schema.types.push_back(ParseTypes(set));
    schema.attrs = ParseAttrs(row.attrs);
    schemas.push_back(std::move(schema));
  }
  return schemas;
}

}  // namespace

const std::vector<Schema>& Schemas() {
  static const std::vector<Schema>& schemas = *new std::vector<Schema>(Parse());
  return schemas;
}

const Schema* FindSchema(absl::string_view type, int opset) {
  const std::vector<Schema>& all = Schemas();
  // The first row behind those of `type` up to `opset`.
  auto it = std::upper_bound(all.begin(), all.end(), std::make_pair(type, opset), [](const auto& key, const Schema& schema) {
    return key.first != schema.type ? key.first < schema.type : key.second < schema.since;
  });
  if (it == all.begin() || (--it)->type != type || it->deprecated) return nullptr;
  return &*it;
}

int NewestOpset() {
  static const int newest = [] {
    int value = 0;
    for (const Schema& schema : Schemas()) value = std::max(value, schema.since);
    return value;
  }();
  return newest;
}

}  // namespace ampc::onnx
