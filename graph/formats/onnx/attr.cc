#include "graph/formats/onnx/attr.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype_switch.h"
#include "graph/formats/onnx/values.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

// The one element of a tensor attribute; false for other tensors.
bool ImportScalar(const AttributeView& view, const std::shared_ptr<const WeightSource>& file, std::vector<Attr>* attrs) {
  TensorView tensor;
  if (!view.has_t || !ReadTensor(view.t, &tensor) || tensor.is_external) return false;
  const absl::StatusOr<StoredValue> stored = ReadValue(tensor, file, nullptr, view.name);
  if (!stored.ok() || stored->type.kind != TypeKind::kTensor || stored->type.NumElements() != 1 || stored->ref.source == nullptr)
    return false;
  const absl::StatusOr<HostTensor> value = LoadWeight(stored->ref, stored->type.dims);
  if (!value.ok()) return false;
  Scalar scalar;
  const bool known = ampc::Select<StoredTypes>(value->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = value->values<T>()[0];
    if constexpr (std::is_same_v<T, bool>) {
      scalar.value = element;
    } else if constexpr (std::is_integral_v<T>) {
      scalar.value = static_cast<int64_t>(element);
    } else if constexpr (std::is_same_v<T, double>) {
      scalar.value = element;
    } else {
      scalar.value = static_cast<double>(static_cast<float>(element));
    }
    return true;
  });
  if (!known && !IsPacked(value->dtype())) return false;
  if (!known)
    scalar.value =
        int64_t{IsSignedInteger(value->dtype()) ? static_cast<int8_t>(value->bytes()[0]) : static_cast<uint8_t>(value->bytes()[0])};
  attrs->push_back({std::string(view.name), scalar});
  attrs->push_back({absl::StrCat(view.name, "_dtype"), value->dtype()});
  return true;
}

std::vector<std::string> Strings(const AttributeView& view) { return {view.strings.begin(), view.strings.end()}; }

// Without a record the file says the kind.
void ImportFree(const AttributeView& view, std::vector<Attr>* attrs) {
  std::string name(view.name);
  switch (view.type) {
    case attribute::kTypeFloat: attrs->push_back({std::move(name), view.f}); return;
    case attribute::kTypeInt: attrs->push_back({std::move(name), view.i}); return;
    case attribute::kTypeString: attrs->push_back({std::move(name), std::string(view.s)}); return;
    case attribute::kTypeFloats: attrs->push_back({std::move(name), view.floats}); return;
    case attribute::kTypeInts: attrs->push_back({std::move(name), view.ints}); return;
    case attribute::kTypeStrings: attrs->push_back({std::move(name), Strings(view)}); return;
    default: return;
  }
}

// The kind of the attribute by the file, or none, and the kind that is needed.
bool IsKind(const AttributeView& view, attribute::Type kind) { return view.type == kind || view.type == 0; }

// A graph attribute is imported with the node.
bool IsGraph(const AttributeView& view) { return view.has_g || !view.graphs.empty(); }

}  // namespace

bool ImportAttr(const AttributeView& view, const AttrDef* def, const std::shared_ptr<const WeightSource>& file, std::vector<Attr>* attrs) {
  if (IsGraph(view)) return def == nullptr || std::holds_alternative<BlockRef>(def->value);
  if (def == nullptr) {
    ImportFree(view, attrs);
    return true;
  }
  std::string name(view.name);
  if (std::holds_alternative<Scalar>(def->value)) return ImportScalar(view, file, attrs);
  if (std::holds_alternative<float>(def->value)) {
    attrs->push_back({std::move(name), view.f});
    return IsKind(view, attribute::kTypeFloat) && view.has_f;
  }
  if (std::holds_alternative<int64_t>(def->value)) {
    attrs->push_back({std::move(name), view.i});
    return IsKind(view, attribute::kTypeInt) && view.has_i;
  }
  if (const DType* fallback = std::get_if<DType>(&def->value)) {
    const bool unset = view.has_i && view.i == 0 && *fallback == DType::kInvalid && !def->required;  // UNDEFINED is as good as no attribute
    if (unset) return IsKind(view, attribute::kTypeInt);
    const DType dtype = DTypeOfNumber(view.i);
    attrs->push_back({std::move(name), dtype});
    return IsKind(view, attribute::kTypeInt) && view.has_i && dtype != DType::kInvalid;
  }
  if (std::holds_alternative<std::string>(def->value)) {
    attrs->push_back({std::move(name), std::string(view.s)});
    return IsKind(view, attribute::kTypeString) && view.has_s;
  }
  if (std::holds_alternative<std::vector<float>>(def->value)) {
    attrs->push_back({std::move(name), view.floats});
    return IsKind(view, attribute::kTypeFloats);
  }
  if (std::holds_alternative<std::vector<int64_t>>(def->value)) {
    attrs->push_back({std::move(name), view.ints});
    return IsKind(view, attribute::kTypeInts);
  }
  if (std::holds_alternative<std::vector<std::string>>(def->value)) {
    attrs->push_back({std::move(name), Strings(view)});
    return IsKind(view, attribute::kTypeStrings);
  }
  return false;
}

std::string ScalarBytes(const Scalar& scalar, DType dtype) {
  double number = 0;
  int64_t integer = 0;
  if (const bool* b = std::get_if<bool>(&scalar.value)) number = static_cast<double>(integer = *b);
  if (const int64_t* i = std::get_if<int64_t>(&scalar.value)) number = static_cast<double>(integer = *i);
  if (const double* d = std::get_if<double>(&scalar.value)) number = *d;
  std::string bytes;
  if (IsInteger(dtype) && IsPacked(dtype)) bytes.assign(1, static_cast<char>(integer & ((1 << BitsOf(dtype)) - 1)));
  ampc::Select<StoredTypes>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(std::holds_alternative<double>(scalar.value) ? static_cast<int64_t>(number) : integer);
    } else if constexpr (std::is_same_v<T, double>) {
      value = number;
    } else {
      value = T(static_cast<float>(number));
    }
    bytes.assign(reinterpret_cast<const char*>(&value), sizeof(value));
  });
  return bytes;
}

namespace {

void AppendFloatField(int number, float value, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kFixed32, out);
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Appends the value's fields of AttributeProto; gives the attribute::Type.
struct Encoder {
  std::string* out;

  int Int(int64_t value) const {
    AppendVarintField(attribute::kI, static_cast<uint64_t>(value), out);
    return attribute::kTypeInt;
  }
  template <typename T>
  int Ints(const std::vector<T>& values) const {
    for (const T value : values) AppendVarintField(attribute::kInts, static_cast<uint64_t>(static_cast<int64_t>(value)), out);
    return attribute::kTypeInts;
  }
  template <typename T>
  int Floats(const std::vector<T>& values) const {
    for (const T value : values) AppendFloatField(attribute::kFloats, static_cast<float>(value), out);
    return attribute::kTypeFloats;
  }
  int operator()(bool value) const { return Int(value); }
  int operator()(int32_t value) const { return Int(value); }
  int operator()(int64_t value) const { return Int(value); }
  int operator()(DType value) const { return Int(NumberOfDType(value)); }
  int operator()(float value) const {
    AppendFloatField(attribute::kF, value, out);
    return attribute::kTypeFloat;
  }
  int operator()(double value) const { return (*this)(static_cast<float>(value)); }
  int operator()(const std::string& value) const {
    AppendBytesField(attribute::kS, value, out);
    return attribute::kTypeString;
  }
  int operator()(const std::vector<bool>& values) const { return Ints(std::vector<int64_t>(values.begin(), values.end())); }
  int operator()(const std::vector<int32_t>& values) const { return Ints(values); }
  int operator()(const std::vector<int64_t>& values) const { return Ints(values); }
  int operator()(const std::vector<float>& values) const { return Floats(values); }
  int operator()(const std::vector<double>& values) const { return Floats(values); }
  int operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) AppendBytesField(attribute::kStrings, value, out);
    return attribute::kTypeStrings;
  }
  int operator()(const BlockRef&) const { return 0; }
  int operator()(const VarName&) const { return 0; }
  int operator()(const Scalar&) const { return 0; }
  int operator()(const std::vector<BlockRef>&) const { return 0; }
  int operator()(const std::vector<VarName>&) const { return 0; }
  int operator()(const std::vector<Scalar>&) const { return 0; }
};

}  // namespace

std::string EncodeAttr(absl::string_view name, const AttrValue& value) {
  std::string out;
  AppendBytesField(attribute::kName, name, &out);
  const int type = std::visit(Encoder{&out}, value);
  if (type == 0) return "";
  AppendVarintField(attribute::kType, static_cast<uint64_t>(type), &out);
  return out;
}

}  // namespace ampc::onnx
