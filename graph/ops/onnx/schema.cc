#include "graph/ops/onnx/schema.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

struct Row {
  absl::string_view type;
  int since;
  const char* formals;
  const char* types;
  const char* attrs;
};
// Sorted: small letters, which domains begin with, come behind capitals.
constexpr Row kRows[] = {
#include "graph/ops/onnx/schemas.inc"
#include "graph/ops/onnx/schemas_microsoft.inc"
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

Schema Parse(const Row& row) {
  Schema schema;
  schema.type = std::string(row.type);
  schema.since = std::abs(row.since);
  schema.deprecated = row.since < 0;
  const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(row.formals, '>');
  schema.inputs = ParseFormals(sides.first);
  schema.outputs = ParseFormals(sides.second);
  for (absl::string_view set : absl::StrSplit(row.types, ' ', absl::SkipEmpty())) schema.types.push_back(ParseTypes(set));
  schema.attrs = ParseAttrs(row.attrs);
  return schema;
}

// Rows are parsed when they are asked for: a model needs few of them.
class Table {
 public:
  const Schema& At(size_t row) {
    std::call_once(parsed_[row], [&] { schemas_[row] = Parse(kRows[row]); });
    return schemas_[row];
  }
  const std::vector<Schema>& All() {
    for (size_t row = 0; row < schemas_.size(); ++row) At(row);
    return schemas_;
  }

 private:
  std::vector<Schema> schemas_ = std::vector<Schema>(std::size(kRows));
  std::array<std::once_flag, std::size(kRows)> parsed_;
};

Table& TheTable() {
  static Table& table = *new Table();
  return table;
}

}  // namespace

const std::vector<Schema>& Schemas() { return TheTable().All(); }

const Schema* FindSchema(absl::string_view type, int opset) {
  // The first row behind those of `type` up to `opset`.
  const Row* row = std::partition_point(std::begin(kRows), std::end(kRows),
                                        [&](const Row& r) { return r.type != type ? r.type < type : std::abs(r.since) <= opset; });
  if (row == std::begin(kRows) || (--row)->type != type || row->since < 0) return nullptr;
  return &TheTable().At(static_cast<size_t>(row - kRows));
}

bool DiffersInTypesAlone(absl::string_view type, int from, int to) {
  const Schema *before = FindSchema(type, from), *after = FindSchema(type, to);
  if (before == after) return true;
  if (before == nullptr || after == nullptr || before->deprecated != after->deprecated) return false;
  const auto same_formal = [](const Formal& a, const Formal& b) {
    return a.name == b.name && a.optional == b.optional && a.variadic == b.variadic && a.heterogeneous == b.heterogeneous;
  };
  const auto same_attr = [](const FormalAttr& a, const FormalAttr& b) {
    return a.name == b.name && a.kind == b.kind && a.required == b.required && a.has_default == b.has_default && SameAttr(a.value, b.value);
  };
  const auto same = [](const auto& a, const auto& b, const auto& equal) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
  };
  return same(before->inputs, after->inputs, same_formal) && same(before->outputs, after->outputs, same_formal) &&
         same(before->attrs, after->attrs, same_attr);
}

int NewestOpset() {
  static const int newest = [] {
    int value = 0;
    for (const Row& row : kRows) value = std::max(value, std::abs(row.since));
    return value;
  }();
  return newest;
}

}  // namespace ampc::onnx
