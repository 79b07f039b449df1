#include <algorithm>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype_switch.h"
#include "graph/formats/onnx/importer.h"
#include "graph/infer_context.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

// The one element of a tensor attribute; false for other tensors.
bool ImportScalar(const AttributeView& view, const std::shared_ptr<const WeightSource>& file, std::vector<Attr>* attrs) {
  TensorView tensor;
  if (!view.has_t || !ReadTensor(view.t, &tensor) || tensor.is_external) return false;
  const absl::StatusOr<StoredValue> stored = ReadValue(tensor, file, nullptr, view.name);
  if (!stored.ok() || stored->type.kind != TypeKind::kTensor || stored->type.NumElements() != 1 || stored->ref.source == nullptr) return false;
  const absl::StatusOr<HostTensor> value = LoadWeight(stored->ref, stored->type.dims);
  if (!value.ok()) return false;
  Scalar scalar;
  const absl::Status known = SwitchAll(value->dtype(), view.name, [&](auto tag) -> absl::Status {
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
    return absl::OkStatus();
  });
  if (!known.ok()) return false;
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

// What the file says the kind is, or nothing, and what it should be.
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
  if (std::holds_alternative<DType>(def->value)) {
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

bool ImportAttrs(const OpDef* def, const NodeView& node, const std::shared_ptr<const WeightSource>& file, std::vector<Attr>* attrs) {
  size_t required = 0, given = 0;
  for (const absl::string_view bytes : node.attributes) {
    AttributeView view;
    if (!ReadAttribute(bytes, &view)) return false;
    const AttrDef* attr = def == nullptr ? nullptr : def->FindAttr(view.name);
    if (def != nullptr && (attr == nullptr || attr->extra || view.is_reference)) return false;
    if (!ImportAttr(view, attr, file, attrs)) return false;
    if (attr != nullptr && attr->required) ++given;
  }
  if (def == nullptr) return true;
  for (const AttrDef& attr : def->attrs) required += attr.required ? 1 : 0;
  return given == required;
}

void CompleteTypes(const Op& op) {
  static const TypeEnv kDeclared;
  const absl::StatusOr<std::vector<std::optional<TensorType>>> inferred = InferOp(op, kDeclared);
  if (!inferred.ok()) return;  // the verifier reports it
  for (size_t i = 0; i < inferred->size(); ++i) {
    if (!(*inferred)[i].has_value()) continue;
    const TensorType& want = *(*inferred)[i];
    TensorType& have = op.outputs()[i]->type;
    if (want.kind != TypeKind::kTensor) continue;
    if (have.kind != TypeKind::kTensor || !Compatible(have, want)) {
      have = want;
      continue;
    }
    if (have.dtype == DType::kInvalid) have.dtype = want.dtype;
    if (!want.has_rank) continue;
    if (!have.has_rank) have = TensorType(have.dtype, Dims(want.dims.size(), kUnknownDim));
    for (int d = 0; d < want.rank(); ++d) {
      // What the op computes names the same symbol wherever the dimension is the same; what the file declares often names a new one.
      if (!IsKnown(have.dims[d]) && want.dims[d] != kUnknownDim) have.dims[d] = want.dims[d];
    }
  }
}

}  // namespace ampc::onnx
