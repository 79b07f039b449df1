// Constant operands as attributes.
#include <algorithm>
#include <limits>

#include "graph/formats/pir/importer.h"
#include "graph/formats/pir/values.h"
#include "graph/op_registry.h"

namespace ampc::pir {
namespace {

// Lists of sizes, axes and positions have few elements.
constexpr double kMostElements = 64;

std::optional<AttrValue> AttrIn(JsonRef op, absl::string_view name) {
  for (const JsonRef attr : op.Find("A")) {
    if (!attr.Find("N").IsString(name)) continue;
    absl::StatusOr<std::optional<AttrValue>> value = ReadAttr(attr.Find("AT"));
    return value.ok() ? *std::move(value) : std::nullopt;
  }
  return std::nullopt;
}

// A position beyond every dimension says "to the end" in the narrower type, too.
AttrValue Narrow(AttrValue value) {
  auto* list = std::get_if<std::vector<int64_t>>(&value);
  if (list == nullptr) return value;
  for (int64_t& v : *list) v = std::clamp<int64_t>(v, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  return value;
}

}  // namespace

std::optional<AttrValue> ConstantOf(JsonRef op) {
  const std::optional<AttrValue> value = AttrIn(op, "value");
  if (!value.has_value()) return std::nullopt;
  if (PaddleOpName(op) == "full_int_array") return ConvertAttr(*value, std::vector<int64_t>());
  const std::optional<AttrValue> dtype = AttrIn(op, "dtype"), shape = AttrIn(op, "shape");
  const std::optional<std::vector<double>> number = Numbers(*value), dims = shape.has_value() ? Numbers(*shape) : std::nullopt;
  if (!dtype.has_value() || !std::holds_alternative<DType>(*dtype) || !number.has_value() || number->size() != 1 || !dims.has_value())
    return std::nullopt;
  double count = 1;
  for (const double dim : *dims) count *= dim;
  if (count < 1 || count > kMostElements) return std::nullopt;
  const DType type = std::get<DType>(*dtype);
  if (count > 1) {
    const std::vector<double> values(static_cast<size_t>(count), (*number)[0]);
    return IsInteger(type) ? ConvertAttr(values, std::vector<int64_t>()) : AttrValue(values);
  }
  if (type == DType::kBool) return AttrValue((*number)[0] != 0);
  return IsInteger(type) ? ConvertAttr((*number)[0], int64_t{0}) : AttrValue((*number)[0]);
}

std::optional<AttrValue> FoldOperand(const OpRow& row, size_t i, const OpDef& def, const AttrValue& constant) {
  if (i >= row.operands.size() || row.operands[i].attr.empty()) return std::nullopt;
  const std::string& name = row.operands[i].attr;
  const AttrDef* attr = def.FindAttr(name);
  if (attr == nullptr) return std::nullopt;
  const AttrValue value = name == "starts" || name == "ends" ? Narrow(constant) : constant;
  if (std::optional<AttrValue> converted = ConvertAttr(value, attr->value)) return converted;
  const auto* one = std::get_if<std::vector<int64_t>>(&value);
  return one != nullptr && one->size() == 1 ? ConvertAttr((*one)[0], attr->value) : std::nullopt;
}

void MarkEndsBeforeFirst(Op* slice) {
  std::vector<int64_t> ends = slice->GetInts("ends");
  const std::vector<int64_t> strides = slice->GetInts("strides");
  for (size_t i = 0; i < std::min(ends.size(), strides.size()); ++i) {
    if (strides[i] < 0 && ends[i] <= std::numeric_limits<int32_t>::min()) ends[i] = -1;
  }
  const AttrValue* was = slice->explicit_attr("ends");
  if (was == nullptr || ends == slice->GetInts("ends")) return;
  if (std::optional<AttrValue> now = ConvertAttr(ends, *was)) slice->SetAttr("ends", *std::move(now));
}

const OpDef* RecordOf(const OpRow& row) {
  if (!row.named) return nullptr;
  // Pooling whose positions nothing reads.
  if (row.native == "max_pool2d_with_index") return Ops().Find("pool2d");
  if (row.native == "max_pool3d_with_index") return Ops().Find("pool3d");
  return Ops().Find(row.native);
}

}  // namespace ampc::pir
