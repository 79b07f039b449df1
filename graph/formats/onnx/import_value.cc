#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/importer.h"

namespace ampc::onnx {

absl::Status Importer::AddConstant(absl::string_view name, StoredValue value, Location location, Scope* scope) {
  AMPC_ASSIGN_OR_RETURN(const TensorType declared, DeclaredType(name, *scope));
  const bool known = value.type.kind == TypeKind::kTensor;
  if (known && scope->names[scope->Define(name)].input && !Compatible(declared, value.type)) {
    return Error(absl::StrCat("input '", name, "' is ", ToString(declared), ", its initializer is ", ToString(value.type)));
  }
  const bool literal = value.ref.source != nullptr && value.type.NumElements() <= kMaxLiteral;
  const VarKind kind = !known ? VarKind::kState : literal ? VarKind::kConst : VarKind::kParam;
  Var* var = NewValue(name, kind, std::move(value.type), location, scope);
  OnnxOrigin::Constant none;
  if (location.graph != kNoGraph) origin_->values.back().constant = static_cast<int>(origin_->constants.size());
  OnnxOrigin::Constant& origin = location.graph == kNoGraph ? none : origin_->constants.emplace_back();
  origin.external = value.external;
  origin.source = value.ref.source.get();
  origin.offset = value.ref.offset;
  origin.says_offset = value.says_offset;
  origin.says_length = value.says_length;
  if (value.ref.source != nullptr) origin.file_size = value.ref.source->bytes().size();
  if (value.external) {
    origin_->one_file = origin_->one_file && (external_ == nullptr || external_ == origin.source);
    external_ = origin.source;
    origin_->external = true;
  }
  if (value.ref.source == nullptr) return absl::OkStatus();
  if (!literal) {
    var->weight = std::make_unique<WeightRef>(std::move(value.ref));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, LoadWeight(value.ref, var->type.dims));
  var->literal = origin.literal = std::make_shared<const HostTensor>(std::move(tensor));
  return absl::OkStatus();
}

absl::Status Importer::ImportInitializers(Scope* scope) {
  for (size_t i = 0; i < scope->view.initializers.size(); ++i) {
    TensorView tensor;
    if (!ReadTensor(scope->view.initializers[i], &tensor)) return Damaged("an initializer");
    if (tensor.name.empty()) return Error("an initializer has no name");
    AMPC_ASSIGN_OR_RETURN(StoredValue value, ReadValue(tensor, bytes_, &files_, absl::StrCat(path_, ": initializer '", tensor.name, "'")));
    AMPC_RETURN_IF_ERROR(
        AddConstant(tensor.name, std::move(value), {.section = 'i', .graph = scope->graph, .index = static_cast<int>(i)}, scope));
  }
  for (const absl::string_view bytes : scope->view.sparse) {
    StoredValue value;
    value.type = TensorType::Opaque();
    AMPC_RETURN_IF_ERROR(
        AddConstant(BytesField(BytesField(bytes, 1), tensor::kName), std::move(value), {.section = 's', .graph = scope->graph}, scope));
  }
  return absl::OkStatus();
}

// The value is in the one attribute.
absl::Status Importer::ImportConstantNode(const NodeView& node, int index, Scope* scope) {
  const std::string where = absl::StrCat(path_, ": constant '", node.outputs.empty() ? "" : node.outputs[0], "'");
  if (node.outputs.size() != 1 || node.outputs[0].empty() || !node.inputs.empty() || node.attributes.size() != 1) {
    return BadInputError(absl::StrCat(where, ": a Constant node has one attribute, one result and no operands"));
  }
  AttributeView attribute;
  if (!ReadAttribute(node.attributes[0], &attribute)) return Damaged("an attribute");
  const absl::string_view name = attribute.name;
  StoredValue value;
  value.type = TensorType::Opaque();
  if (name == "value" && attribute.has_t) {
    TensorView tensor;
    if (!ReadTensor(attribute.t, &tensor)) return Damaged(where);
    AMPC_ASSIGN_OR_RETURN(value, ReadValue(tensor, bytes_, &files_, where));
  } else if (name == "value_float" || name == "value_floats") {
    value = name == "value_float" ? ValueOfFloats({&attribute.f, 1}, true) : ValueOfFloats(attribute.floats, false);
  } else if (name == "value_int" || name == "value_ints") {
    value = name == "value_int" ? ValueOfInts({&attribute.i, 1}, true) : ValueOfInts(attribute.ints, false);
  } else if (name != "value_string" && name != "value_strings" && name != "sparse_value") {
    return BadInputError(absl::StrCat(where, ": a Constant node with the attribute '", name, "'"));
  }
  return AddConstant(node.outputs[0], std::move(value), {.section = 'n', .graph = scope->graph, .index = index}, scope);
}

}  // namespace ampc::onnx
