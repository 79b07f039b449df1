#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/onnx/attr.h"
#include "graph/formats/onnx/importer.h"
#include "graph/infer_memo.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/dtype_number.h"
#include "graph/ops/onnx/function_body.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/schema.h"
#include "graph/ops/onnx/subgraph.h"

namespace ampc::onnx {
namespace {

// The slot of the operand or result at `position`; -1 when there is none. The slot `captures` is none of them.
int SlotAt(const std::vector<SlotDef>& slots, size_t position) {
  size_t count = slots.size();
  if (count > 0 && slots.back().name == kCaptures) --count;
  if (position < count) return static_cast<int>(position);
  return count > 0 && slots[count - 1].variadic ? static_cast<int>(count) - 1 : -1;
}

// Whether operands or results, `has(i)` of which are given, go with the slots.
template <typename Has>
bool Fits(const std::vector<SlotDef>& slots, size_t count, const Has& has) {
  for (size_t i = 0; i < count; ++i) {
    const int slot = SlotAt(slots, i);
    if (slot < 0 ? has(i) : (!has(i) && (!slots[slot].optional || slots[slot].variadic))) return false;
  }
  for (size_t s = count; s < slots.size(); ++s) {
    if (!slots[s].optional) return false;
  }
  return true;
}

bool IsOpaque(const Var* var) { return var != nullptr && var->type.kind != TypeKind::kTensor; }

// Whether an op of the record `def` takes the operand.
bool Takes(const OpDef& def, const Var* var) {
  const OnnxDef* onnx = DefOf(def);
  return !IsOpaque(var) || (var->type.kind == TypeKind::kTensorArray && onnx != nullptr && onnx->op->sequences);
}

const Formal* FormalAt(const std::vector<Formal>& formals, size_t position) {
  if (position < formals.size()) return &formals[position];
  return !formals.empty() && formals.back().variadic ? &formals.back() : nullptr;
}

// Whether the result at `position`, which no declaration describes, of a node that is carried as it is can be no tensor of numbers: its
// operator gives nothing else, or gives it the type of an operand that is none.
bool GivesNoTensor(const Schema* schema, absl::Span<Var* const> operands, size_t position) {
  const bool foreign = std::any_of(operands.begin(), operands.end(), IsOpaque);
  const Formal* result = schema == nullptr ? nullptr : FormalAt(schema->outputs, position);
  if (result == nullptr || result->type < 0 || result->heterogeneous) return foreign;
  if (schema->types[result->type] == kOtherTypes) return true;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Formal* operand = IsOpaque(operands[i]) ? FormalAt(schema->inputs, i) : nullptr;
    if (operand != nullptr && (operand->heterogeneous || operand->type == result->type)) return true;
  }
  return false;
}

// The data type that a Cast node names; kInvalid for one that is not ours, or further attributes that matter.
DType CastTarget(const NodeView& node) {
  DType to = DType::kInvalid;
  for (const absl::string_view bytes : node.attributes) {
    AttributeView view;
    if (!ReadAttribute(bytes, &view)) return DType::kInvalid;
    if (view.name == "to") to = view.has_i ? DTypeOfNumber(view.i) : DTypeOfEnumerator(view.s);
    if (view.name != "to" && view.name != "saturate" && view.name != "round_mode") return DType::kInvalid;
  }
  return to;
}

// Slot names for `count` operands or results of an opaque op: one for all, or one each when some are left out.
template <typename Has>
std::vector<std::string> OpaqueSlots(size_t count, absl::string_view one, absl::string_view each, const Has& has) {
  bool all = true;
  for (size_t i = 0; i < count; ++i) all = all && has(i);
  if (all) return {std::string(one)};
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(absl::StrCat(each, i));
  return names;
}

// Puts the values that are there into their slots.
template <typename List, typename Set>
void FillSlots(const std::vector<SlotDef>& slots, const List& vars, const Set& set) {
  for (size_t i = 0; i < vars.size();) {
    const int slot = SlotAt(slots, i);
    if (slot < 0) return;
    size_t end = i + 1;
    while (end < vars.size() && SlotAt(slots, end) == slot) ++end;
    if (vars[i] != nullptr) set(slot, absl::MakeConstSpan(&vars[i], end - i));
    i = end;
  }
}

// The attributes as `def` wants them, without its subgraphs; false when one does not fit or a required one is missing. A null `def` takes
// what it can.
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

// A call gives what the function's body yields.
void TakeResultTypes(const Block& body, const Op& call) {
  const absl::Span<Var* const> yielded = body.ops().back()->inputs();
  for (size_t i = 0; i < yielded.size() && i < call.outputs().size(); ++i) {
    const TensorType& given = yielded[i]->type;
    TensorType& result = call.outputs()[i]->type;
    if (result.kind == TypeKind::kOpaque && given.kind != TypeKind::kOpaque) result = given;
    if (given.kind == result.kind || result.LacksDType()) Fill(given, &result);
  }
}

}  // namespace

bool CompleteTypes(const Op& op, InferMemo* memo) {
  const absl::StatusOr<const std::vector<std::optional<TensorType>>*> answer = memo->Infer(op);
  if (!answer.ok()) return false;  // the verifier reports it
  const std::vector<std::optional<TensorType>>& inferred = **answer;
  for (size_t i = 0; i < inferred.size(); ++i) {
    if (!inferred[i].has_value()) continue;
    const TensorType& want = *inferred[i];
    TensorType& have = op.outputs()[i]->type;
    const bool elements = want.kind == TypeKind::kTensorArray && want.dtype != DType::kInvalid;
    if (want.kind != TypeKind::kTensor && (elements || have.LacksDType())) have = want;
    if (want.kind != TypeKind::kTensor) continue;
    if (have.kind != TypeKind::kTensor || !Compatible(have, want)) {
      have = want;
      continue;
    }
    if (have.dtype == DType::kInvalid) have.dtype = want.dtype;
    if (!want.has_rank) continue;
    if (!have.has_rank) have = TensorType(have.dtype, Dims(want.dims.size(), kUnknownDim));
    for (int d = 0; d < want.rank(); ++d) {
      // Inference names the same symbol wherever the dimension is the same; the file's declarations often name a new one.
      if (!IsKnown(have.dims[d]) && want.dims[d] != kUnknownDim) have.dims[d] = want.dims[d];
    }
  }
  return true;
}

const OpDef* Importer::DefOf(const NodeView& node) {
  if (!node.IsDefaultDomain()) return FindOp(absl::StrCat(node.domain, ".", node.type), 1);  // what another domain has is of version 1
  const absl::string_view type = node.type;
  if (call_ != nullptr) return FindOp(type, origin_->opset);  // the function's own set
  const auto [it, added] = defs_.try_emplace(type, nullptr);
  if (added) it->second = FindOp(type, origin_->opset);
  return it->second;
}

absl::Status Importer::GatherInputs(const NodeView& node, int index, Scope* scope, Vars* inputs) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs->push_back(nullptr);
    if (node.inputs[i].empty()) continue;
    const int id = scope->reads[scope->first_read[index] + i];
    if (id >= 0 && scope->names[id].var != nullptr) {
      inputs->back() = scope->names[id].var;
    } else {
      AMPC_ASSIGN_OR_RETURN(inputs->back(), Read(node.inputs[i], &node, scope));
    }
  }
  while (!inputs->empty() && inputs->back() == nullptr) inputs->pop_back();
  return absl::OkStatus();
}

absl::StatusOr<BlockRef> Importer::ImportSubgraph(absl::string_view bytes, Scope* scope, std::vector<Var*>* captures) {
  Scope inner;
  inner.parent = scope;
  inner.depth = scope->depth + 1;
  inner.block = &program_.AddBlock(scope->block->index(), absl::StrCat("block", program_.num_blocks()));
  const BlockRef ref{inner.block->index()};
  AMPC_RETURN_IF_ERROR(ImportGraph(bytes, &inner));
  captures->insert(captures->end(), inner.captures.begin(), inner.captures.end());
  return ref;
}

absl::Status Importer::ImportSubgraphs(const NodeView& node, Scope* scope, Op* op, std::vector<Var*>* captures) {
  for (const absl::string_view bytes : node.attributes) {
    AttributeView view;
    if (!ReadAttribute(bytes, &view)) return Damaged("an attribute");
    if (view.has_g) {
      AMPC_ASSIGN_OR_RETURN(const BlockRef block, ImportSubgraph(view.g, scope, captures));
      op->SetAttr(view.name, block);
    }
    if (view.graphs.empty()) continue;
    std::vector<BlockRef> blocks;
    for (const absl::string_view graph : view.graphs) {
      AMPC_ASSIGN_OR_RETURN(blocks.emplace_back(), ImportSubgraph(graph, scope, captures));
    }
    op->SetAttr(view.name, std::move(blocks));
  }
  std::sort(captures->begin(), captures->end(), [](const Var* a, const Var* b) { return a->id() < b->id(); });
  captures->erase(std::unique(captures->begin(), captures->end()), captures->end());
  return absl::OkStatus();
}

std::unique_ptr<Op> Importer::MakeCast(const NodeView& node, const Vars& inputs, Scope* scope) {
  static const OpDef* cast = Ops().Find("cast");
  const DType to = CastTarget(node);
  if (to == DType::kInvalid || inputs.size() != 1 || IsOpaque(inputs[0]) || node.outputs.size() != 1 || node.outputs[0].empty())
    return nullptr;
  std::unique_ptr<Op> op = scope->block->NewOp(cast);
  op->SetInputs(0, inputs);
  if (inputs[0]->type.dtype != DType::kInvalid) op->SetAttr("in_dtype", inputs[0]->type.dtype);
  op->SetAttr("out_dtype", to);
  for (const absl::string_view bytes : node.attributes) {
    AttributeView view;
    (void)ReadAttribute(bytes, &view);
    if (view.name == "saturate" && view.has_i && view.i == 0) op->SetAttr("saturate", false);
    if (view.name == "round_mode" && view.has_s && view.s != "up") op->SetAttr("round_mode", std::string(view.s));
  }
  return op;
}

absl::StatusOr<std::unique_ptr<Op>> Importer::MakeOpaque(const NodeView& node, const Vars& inputs, Scope* scope, int* added) {
  std::vector<std::string> ins = OpaqueSlots(inputs.size(), "X", "x", [&](size_t i) { return inputs[i] != nullptr; });
  const std::vector<std::string> outs = OpaqueSlots(node.outputs.size(), "Out", "y", [&](size_t i) { return !node.outputs[i].empty(); });
  std::vector<Attr> attrs;
  bool graphs = false;
  for (const absl::string_view bytes : node.attributes) {
    AttributeView view;
    if (!ReadAttribute(bytes, &view)) return Damaged("an attribute");
    graphs = graphs || view.has_g || !view.graphs.empty();
  }
  if (graphs) ins.emplace_back(kCaptures);
  (void)ImportAttrs(nullptr, node, bytes_, &attrs);
  const std::string type = absl::StrCat(node.IsDefaultDomain() ? "onnx" : node.domain, ".", node.type);
  std::unique_ptr<Op> op = scope->block->NewOp(program_.OpaqueDef(type, ins, outs));
  FillSlots(op->def().inputs, inputs, [&](int slot, auto vars) { op->SetInputs(slot, vars); });
  for (Attr& attr : attrs) op->SetAttr(attr.name, std::move(attr.value));
  if (const absl::string_view* function = FindFunction(node)) AMPC_RETURN_IF_ERROR(ImportBody(node, inputs, *function, scope, op.get()));
  if (!graphs) return op;
  std::vector<Var*> captures;
  AMPC_RETURN_IF_ERROR(ImportSubgraphs(node, scope, op.get(), &captures));
  op->SetInputs(static_cast<int>(ins.size()) - 1, captures);
  *added = static_cast<int>(captures.size());
  return op;
}

absl::StatusOr<std::unique_ptr<Op>> Importer::MakeOp(const NodeView& node, const Vars& inputs, Scope* scope, int* added) {
  if (FindFunction(node) != nullptr) return MakeOpaque(node, inputs, scope, added);
  const bool standard = node.IsDefaultDomain();
  if (origin_->opset == 0 && standard)
    return Error(absl::StrCat(node.type, " node '", node.name, "': the model names no operator set for the default domain"));
  if (node.type == "Cast" && standard) {
    if (std::unique_ptr<Op> cast = MakeCast(node, inputs, scope)) return cast;
  }
  const OpDef* def = DefOf(node);
  const bool fits = def != nullptr && std::all_of(inputs.begin(), inputs.end(), [def](const Var* var) { return Takes(*def, var); }) &&
                    Fits(def->inputs, inputs.size(), [&](size_t i) { return inputs[i] != nullptr; }) &&
                    Fits(def->outputs, node.outputs.size(), [&](size_t i) { return !node.outputs[i].empty(); });
  std::vector<Attr> attrs;
  if (!fits || !ImportAttrs(def, node, bytes_, &attrs)) return MakeOpaque(node, inputs, scope, added);
  std::unique_ptr<Op> op = scope->block->NewOp(def);
  FillSlots(def->inputs, inputs, [&](int slot, auto vars) { op->SetInputs(slot, vars); });
  for (Attr& attr : attrs) op->SetAttr(attr.name, std::move(attr.value));
  const int captures_slot = def->InputSlot(kCaptures);
  if (captures_slot < 0) return op;
  std::vector<Var*> captures;
  AMPC_RETURN_IF_ERROR(ImportSubgraphs(node, scope, op.get(), &captures));
  op->SetInputs(captures_slot, captures);
  *added = static_cast<int>(captures.size());
  return op;
}

absl::Status Importer::AddResults(const NodeView& node, int index, const Vars& inputs, Scope* scope, Op* op) {
  Vars results;
  const bool own = node.IsDefaultDomain() && FindFunction(node) == nullptr;
  const Schema* schema = op->def().opaque && own ? FindSchema(node.type, origin_->opset) : nullptr;
  int id = scope->first_result[index];
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    results.push_back(nullptr);
    const absl::string_view name = node.outputs[i];
    if (name.empty()) continue;
    AMPC_ASSIGN_OR_RETURN(TensorType type, DeclaredType(name, *scope));
    if (op->def().opaque && type.LacksDType()) {
      const DType to = node.type == "Cast" ? CastTarget(node) : DType::kInvalid;
      const bool opaque = node.type == "Cast" || (own && GivesNoTensor(schema, inputs, i));
      if (to != DType::kInvalid || opaque) type = to == DType::kInvalid ? TensorType::Opaque() : TensorType::Unranked(to);
    }
    const Location location = {.section = 'n', .graph = scope->graph, .sub = static_cast<int>(i), .index = index};
    results.back() = NewValue(id++, name, VarKind::kTemp, std::move(type), location, scope);
  }
  while (!results.empty() && results.back() == nullptr) results.pop_back();
  FillSlots(op->def().outputs, results, [&](int slot, auto vars) { op->SetOutputs(slot, vars); });
  return absl::OkStatus();
}

absl::Status Importer::ImportNode(absl::string_view bytes, int index, Scope* scope) {
  if (call_ == nullptr) return ImportWholeNode(bytes, index, scope);
  const std::shared_ptr<const WeightSource> around = bytes_;
  const absl::Status status = ImportWholeNode(WithAttributes(bytes), index, scope);
  bytes_ = around;
  return status;
}

absl::Status Importer::ImportWholeNode(absl::string_view bytes, int index, Scope* scope) {
  NodeView node;
  if (!ReadNode(bytes, &node)) return Damaged("a node");
  if (node.type == "Constant" && node.IsDefaultDomain() && FindFunction(node) == nullptr) return ImportConstantNode(node, index, scope);
  Vars inputs;
  AMPC_RETURN_IF_ERROR(GatherInputs(node, index, scope, &inputs));
  int added = 0;
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Op> op, MakeOp(node, inputs, scope, &added));
  if (call_ == nullptr) {
    op->origin = static_cast<int>(origin_->ops.size());
    origin_->ops.push_back({bytes, scope->graph, index, added});
  }
  const absl::string_view marks = origin_->undo.Find({.section = 'o', .graph = scope->graph, .index = index});
  if (!marks.empty()) op->marks = DecodeMarks(marks);
  AMPC_RETURN_IF_ERROR(AddResults(node, index, inputs, scope, op.get()));
  if (const Block* body = FunctionBodyOf(*op)) TakeResultTypes(*body, *op);
  contradicts_itself_ = !CompleteTypes(*op, &inferred_) || contradicts_itself_;
  lacks_types_ = lacks_types_ || LacksTypes(*op);
  scope->block->Append(std::move(op));
  return absl::OkStatus();
}

}  // namespace ampc::onnx
