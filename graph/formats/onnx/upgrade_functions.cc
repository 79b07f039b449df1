#include "graph/formats/onnx/upgrade_functions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/formats/onnx/attr.h"
#include "graph/formats/onnx/messages.h"
#include "graph/formats/onnx/origin.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/dtype_number.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {
namespace {

constexpr int kFunctionNode = 7, kFunctionOpset = 9;

// Calls `visit(graph)` for the graphs of a node's attributes.
template <typename Visit>
void ForEachGraph(const NodeView& node, const Visit& visit) {
  for (const absl::string_view attribute : node.attributes) {
    WireReader reader(attribute);
    for (WireField field; reader.Next(&field);) {
      if (field.Is(attribute::kG, kBytes) || field.Is(attribute::kGraphs, kBytes)) visit(field.bytes);
    }
  }
}

// A Constant node.
std::string ConstantNode(absl::string_view result, const HostTensor& value) {
  std::string tensor, attribute, node;
  for (const int64_t dim : value.dims()) AppendVarintField(tensor::kDims, static_cast<uint64_t>(dim), &tensor);
  AppendVarintField(tensor::kDataType, static_cast<uint64_t>(NumberOfDType(value.dtype())), &tensor);
  AppendBytesField(tensor::kRaw, {static_cast<const char*>(value.data()), value.size_bytes()}, &tensor);
  AppendBytesField(attribute::kName, "value", &attribute);
  AppendBytesField(attribute::kT, tensor, &attribute);
  AppendVarintField(attribute::kType, attribute::kTypeTensor, &attribute);
  AppendBytesField(node::kOutput, result, &node);
  AppendBytesField(node::kType, "Constant", &node);
  AppendBytesField(node::kAttribute, attribute, &node);
  return node;
}

// The node as an op of a program of its own: values without types, attributes as far as they have values here.
class ScratchNode {
 public:
  ScratchNode(const NodeView& node, const OnnxDef& def, const std::shared_ptr<const WeightSource>& file) {
    Block& block = program_.main();
    op_ = block.NewOp(&def);
    fits_ = Place(node.inputs, def.inputs, &inputs_) && Place(node.outputs, def.outputs, &outputs_);
    for (size_t s = 0; s < inputs_.size(); ++s) op_->SetInputs(static_cast<int>(s), inputs_[s]);
    for (size_t s = 0; s < outputs_.size(); ++s) op_->SetOutputs(static_cast<int>(s), outputs_[s]);
    for (const absl::string_view bytes : node.attributes) {
      AttributeView view;
      std::vector<Attr> attrs;
      const bool read = ReadAttribute(bytes, &view);
      const bool plain = read && !view.is_reference && !view.has_g && !view.has_t && view.graphs.empty() &&
                         ImportAttr(view, def.FindAttr(view.name), file, &attrs);
      if (!plain) unknown_.emplace_back(view.name);
      for (Attr& attr : attrs) op_->SetAttr(attr.name, std::move(attr.value));
    }
  }

  bool fits() const { return fits_; }
  bool IsUnknown(absl::string_view attr) const { return std::find(unknown_.begin(), unknown_.end(), attr) != unknown_.end(); }
  const Op& op() const { return *op_; }
  std::unique_ptr<Op> Upgrade(UpgradeNodeFn upgrade_node) { return upgrade_node(*op_, program_.main(), unknown_); }

 private:
  template <typename Names>
  bool Place(const Names& names, const std::vector<SlotDef>& slots, std::vector<std::vector<Var*>>* out) {
    size_t count = slots.size();
    if (count > 0 && slots.back().name == kCaptures) --count;
    out->resize(count);
    for (size_t i = 0; i < names.size(); ++i) {
      const size_t slot = i < count ? i : count - 1;
      if (count == 0 || (i >= count && !slots[slot].variadic)) return names[i].empty();
      if (names[i].empty()) continue;
      Var*& var = vars_[std::string(names[i])];
      if (var == nullptr) var = program_.main().AddVar(std::string(names[i]), VarKind::kTemp, TensorType::Unranked(DType::kInvalid));
      (*out)[slot].push_back(var);
    }
    return true;
  }

  Program program_;
  std::unique_ptr<Op> op_;
  absl::flat_hash_map<std::string, Var*> vars_;
  std::vector<std::vector<Var*>> inputs_, outputs_;
  std::vector<std::string> unknown_;
  bool fits_ = false;
};

// The attributes of `made`, behind those of the file that are still so.
std::string Attributes(const NodeView& node, const ScratchNode& scratch, const Op& made, const std::vector<std::string>& fields) {
  std::string out;
  std::vector<absl::string_view> kept;
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const absl::string_view name = BytesField(node.attributes[i], attribute::kName);
    const AttrValue *was = scratch.op().explicit_attr(name), *is = made.explicit_attr(name);
    const bool same = scratch.IsUnknown(name) || (was != nullptr && is != nullptr && SameAttr(*was, *is));
    if (!same) continue;
    AppendBytesField(node::kAttribute, fields[i], &out);
    kept.push_back(name);
  }
  for (const Attr& attr : made.attrs()) {
    if (std::find(kept.begin(), kept.end(), attr.name) == kept.end())
      AppendBytesField(node::kAttribute, EncodeAttr(attr.name, attr.value), &out);
  }
  return out;
}

class FunctionUpgrader {
 public:
  // `file`: the model's bytes.
  FunctionUpgrader(int opset, UpgradeNodeFn upgrade_node, std::shared_ptr<const WeightSource> file)
      : opset_(opset), upgrade_node_(upgrade_node), file_(std::move(file)) {}

  // The FunctionProto with its nodes as the operator set has them, and that set; as it is where it has a later one. Nothing where a node
  // has no conversion: what a step needs to know of types, and of attributes that calls give, nobody knows in a function.
  std::optional<std::string> Upgrade(absl::string_view function);
  // Then: the function and the node.
  const std::string& failed() const { return failed_; }

 private:
  void CollectNames(absl::string_view node);
  // The fields of a node, and of the constants that it needs in front of it, under the number `field`; false where there is no conversion.
  bool UpgradeNode(absl::string_view bytes, int field, std::string* out);
  void AppendOperands(const Op& op, int field, std::string* text, std::string* nodes);
  bool UpgradeGraphs(absl::string_view bytes, std::string* out);
  std::string NewName(const std::string& name);
  bool Fail(const NodeView& node);

  const int opset_;
  const UpgradeNodeFn upgrade_node_;
  const std::shared_ptr<const WeightSource> file_;
  int from_ = 0;
  absl::flat_hash_set<std::string> names_;  // of values, in whatever graph of the function
  std::string failed_;
};

void FunctionUpgrader::CollectNames(absl::string_view bytes) {
  NodeView node;
  (void)ReadNode(bytes, &node);
  for (const absl::string_view name : node.inputs) names_.emplace(name);
  for (const absl::string_view name : node.outputs) names_.emplace(name);
  ForEachGraph(node, [this](absl::string_view graph) {
    GraphView view;
    (void)ReadGraph(graph, &view);
    for (const absl::string_view inner : view.nodes) CollectNames(inner);
    for (const absl::string_view tensor : view.initializers) names_.emplace(BytesField(tensor, tensor::kName));
    for (const absl::string_view input : view.inputs) names_.emplace(BytesField(input, value_info::kName));
  });
}

std::string FunctionUpgrader::NewName(const std::string& name) {
  std::string unique = name;
  for (int n = 1; !names_.insert(unique).second; ++n) unique = absl::StrCat(name, ".", n);
  return unique;
}

bool FunctionUpgrader::Fail(const NodeView& node) {
  absl::StrAppend(&failed_, node.type, " -> '", node.outputs.empty() ? absl::string_view() : node.outputs[0], "'");
  return false;
}

// An attribute, with the nodes of its graphs upgraded.
bool FunctionUpgrader::UpgradeGraphs(absl::string_view bytes, std::string* out) {
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (!field.Is(attribute::kG, kBytes) && !field.Is(attribute::kGraphs, kBytes)) {
      absl::StrAppend(out, field.all);
      continue;
    }
    std::string graph;
    WireReader parts(field.bytes);
    for (WireField part; parts.Next(&part);) {
      if (!part.Is(graph::kNode, kBytes)) {
        absl::StrAppend(&graph, part.all);
      } else if (!UpgradeNode(part.bytes, graph::kNode, &graph)) {
        return false;
      }
    }
    AppendBytesField(field.number, graph, out);
  }
  return true;
}

// To the node's `text`; constants that are new become nodes.
void FunctionUpgrader::AppendOperands(const Op& op, int field, std::string* text, std::string* nodes) {
  std::vector<std::string> names;
  for (int s = 0; s < static_cast<int>(op.def().inputs.size()); ++s) {
    if (op.def().inputs[s].name == kCaptures) continue;
    if (op.inputs(s).empty() && !op.def().inputs[s].variadic) names.emplace_back();
    for (const Var* var : op.inputs(s)) {
      const bool is_new = var->literal != nullptr;
      names.push_back(is_new ? NewName(var->name()) : var->name());
      if (is_new) AppendBytesField(field, ConstantNode(names.back(), *var->literal), nodes);
    }
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  for (const std::string& name : names) AppendBytesField(node::kInput, name, text);
}

bool FunctionUpgrader::UpgradeNode(absl::string_view bytes, int field, std::string* out) {
  NodeView node;
  if (!ReadNode(bytes, &node)) return Fail(node);
  std::vector<std::string> attributes;
  for (const absl::string_view attribute : node.attributes) {
    if (!UpgradeGraphs(attribute, &attributes.emplace_back())) return false;
  }
  const Schema* before = node.IsDefaultDomain() ? FindSchema(node.type, from_) : nullptr;
  const OpDef* record = before == nullptr || before == FindSchema(node.type, opset_) ? nullptr : FindOp(node.type, from_);
  if (record == nullptr) {
    // Later versions of these two only have more types.
    const bool grows = node.type == "Constant" || node.type == "Cast";
    if (before != FindSchema(node.type, opset_) && node.IsDefaultDomain() && !grows) return Fail(node);
  }
  std::string text;
  if (record == nullptr) {
    size_t attribute = 0;
    WireReader reader(bytes);
    for (WireField part; reader.Next(&part);) {
      if (part.Is(node::kAttribute, kBytes)) {
        AppendBytesField(node::kAttribute, attributes[attribute++], &text);
      } else {
        absl::StrAppend(&text, part.all);
      }
    }
  } else {
    ScratchNode scratch(node, *DefOf(*record), file_);
    const std::unique_ptr<Op> made = scratch.fits() ? scratch.Upgrade(upgrade_node_) : nullptr;
    if (made == nullptr) return Fail(node);
    AppendOperands(*made, field, &text, out);
    WireReader reader(bytes);
    for (WireField part; reader.Next(&part);) {
      if (part.Is(node::kType, kBytes)) {
        AppendBytesField(node::kType, TypeName(made->def()), &text);
      } else if (part.number != node::kInput && part.number != node::kAttribute) {
        absl::StrAppend(&text, part.all);
      }
    }
    text += Attributes(node, scratch, *made, attributes);
  }
  AppendBytesField(field, text, out);
  return true;
}

std::optional<std::string> FunctionUpgrader::Upgrade(absl::string_view function) {
  FunctionView view;
  if (!ReadFunction(function, &view)) return std::nullopt;
  failed_ = absl::StrCat("function '", view.domain, ".", view.name, "': ");
  from_ = 0;
  for (const OpsetView& opset : view.opsets) {
    if (IsDefaultDomain(opset.domain)) from_ = static_cast<int>(opset.version);
  }
  if (from_ == 0 || from_ >= opset_) return std::string(function);
  names_.clear();
  for (const absl::string_view name : view.inputs) names_.emplace(name);
  for (const absl::string_view node : view.nodes) CollectNames(node);
  std::string out;
  WireReader reader(function);
  for (WireField field; reader.Next(&field);) {
    OpsetView opset;
    if (field.Is(kFunctionNode, kBytes)) {
      if (!UpgradeNode(field.bytes, kFunctionNode, &out)) return std::nullopt;
    } else if (field.Is(kFunctionOpset, kBytes) && ReadOpset(field.bytes, &opset) && IsDefaultDomain(opset.domain)) {
      std::string text;
      if (!opset.domain.empty()) AppendBytesField(1, opset.domain, &text);
      AppendVarintField(2, static_cast<uint64_t>(opset_), &text);
      AppendBytesField(kFunctionOpset, text, &out);
    } else {
      absl::StrAppend(&out, field.all);
    }
  }
  return out;
}

}  // namespace

int OpsetOf(const Program& program) {
  const OnnxOrigin* origin = OriginOf(program);
  return origin == nullptr ? 0 : origin->opset;
}

absl::StatusOr<bool> UpgradeFunctions(int opset, UpgradeNodeFn upgrade_node, Program& program) {
  const OnnxOrigin* origin = OriginOf(program);
  ModelView model;
  if (origin == nullptr || !ReadModel(origin->bytes(), &model) || model.functions.empty()) return false;
  FunctionUpgrader upgrader(opset, upgrade_node, origin->source);
  std::vector<std::string> upgraded;
  bool changed = false;
  for (const absl::string_view bytes : model.functions) {
    std::optional<std::string> function = upgrader.Upgrade(bytes);
    if (!function.has_value()) return UnsupportedError(upgrader.failed());
    changed = changed || *function != bytes;
    upgraded.push_back(*std::move(function));
  }
  if (!changed) return false;
  auto with_functions = std::make_shared<OnnxOrigin>(*origin);
  with_functions->upgraded_functions = std::move(upgraded);
  program.origin = std::move(with_functions);
  return true;
}

}  // namespace ampc::onnx
