#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/attr.h"
#include "graph/formats/paddle/importer.h"
#include "graph/formats/paddle/undo.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"

namespace ampc::paddle {
namespace {

using Slots = google::protobuf::RepeatedPtrField<OpDesc_Var>;

// The record of a Paddle op type, null for none.
const OpDef* FindRecord(absl::string_view type) {
  static const auto& aliases = *[] {
    auto* map = new std::map<std::string, const OpDef*, std::less<>>();
    for (const OpDef* def : Ops().All()) {
      for (const auto& [format, name] : def->aliases) {
        if (format == "paddle") map->emplace(name, def);
      }
    }
    return map;
  }();
  const auto it = aliases.find(type);
  return it != aliases.end() ? it->second : Ops().Find(type);
}

bool Carried(const OpDesc_Attr& attr) { return !StaysInOrigin(attr.name()) && attr.name() != kUndoAttr; }

// False when the record does not have the slot, or takes fewer operands there, or misses a required one.
template <typename SlotArgs>
bool SlotsFit(const std::vector<SlotDef>& defs, const std::vector<SlotArgs>& args, bool outputs) {
  size_t required = 0, given = 0;
  for (const SlotDef& def : defs) required += def.optional ? 0 : 1;
  for (const SlotArgs& arg : args) {
    if (arg.vars.empty()) continue;
    const SlotDef* def = nullptr;
    for (const SlotDef& d : defs) {
      if (d.name == arg.slot) def = &d;
    }
    if (def == nullptr || (arg.vars.size() > 1 && !def->variadic)) return false;
    if (!def->optional) ++given;
    if (!outputs || def->overwrites) continue;
    for (const Var* var : arg.vars) {
      if (var->kind == VarKind::kParam || var->kind == VarKind::kState) return false;
    }
  }
  return given == required;
}

bool AttrsFit(const OpDef& def, const OpDesc& desc) {
  size_t required = 0, given = 0;
  for (const AttrDef& attr : def.attrs) required += attr.required ? 1 : 0;
  for (const OpDesc_Attr& attr : desc.attrs()) {
    if (!Carried(attr)) continue;
    const AttrDef* attr_def = def.FindAttr(attr.name());
    if (attr_def == nullptr) continue;
    if (!ImportAttr(attr, attr_def).has_value()) return false;
    if (attr_def->required) ++given;
  }
  return given == required;
}

// Fills what the file does not say about results from the op's inference. Where they disagree about a temporary, what
// the op computes is right: declared types go stale when programs are rewritten.
void CompleteTypes(const Op& op) {
  static const TypeEnv kDeclared;
  absl::StatusOr<std::vector<std::optional<TensorType>>> inferred = InferOp(op, kDeclared);
  if (!inferred.ok()) return;  // the verifier reports it
  for (size_t i = 0; i < inferred->size(); ++i) {
    if (!(*inferred)[i].has_value()) continue;
    const TensorType& want = *(*inferred)[i];
    Var& var = *op.outputs()[i];
    if (var.kind != VarKind::kTemp || want.kind == TypeKind::kOpaque || var.type.kind != want.kind) continue;
    const int lod_level = var.type.lod_level;
    if (!Compatible(var.type, want) || !var.type.has_rank) {
      const DType declared = var.type.dtype;
      var.type = want;
      if (want.dtype == DType::kInvalid) var.type.dtype = declared;
      var.type.lod_level = lod_level;
      continue;
    }
    if (var.type.dtype == DType::kInvalid) var.type.dtype = want.dtype;
    for (int d = 0; want.has_rank && d < want.rank(); ++d) {
      if (!IsKnown(var.type.dims[d])) var.type.dims[d] = want.dims[d];
    }
  }
}

}  // namespace

absl::Status Importer::ImportNested(int block, const OpDesc& desc, std::vector<int>* children) {
  for (const OpDesc_Attr& attr : desc.attrs()) {
    const std::optional<AttrValue> value = ImportAttr(attr, nullptr);
    if (!value.has_value()) continue;
    std::vector<BlockRef> refs;
    if (const BlockRef* one = std::get_if<BlockRef>(&*value)) refs.push_back(*one);
    if (const auto* list = std::get_if<std::vector<BlockRef>>(&*value)) refs = *list;
    for (const BlockRef& ref : refs) {
      if (ref.index < 0 || ref.index >= program_.num_blocks()) {
        return Error(absl::StrCat("op '", desc.type(), "' refers to block ", ref.index, ", the program has ", program_.num_blocks()));
      }
      if (ref.index == 0 || program_.block(ref.index).parent() != block || entered_[ref.index]) continue;
      AMPC_RETURN_IF_ERROR(ImportBlock(ref.index));
      children->push_back(ref.index);
    }
  }
  return absl::OkStatus();
}

absl::Status Importer::GatherArgs(int block, const OpDesc& desc, std::vector<SlotArgs>* inputs, std::vector<SlotArgs>* outputs) {
  const auto gather = [&](const Slots& slots, bool read, std::vector<SlotArgs>* out) -> absl::Status {
    for (const OpDesc_Var& slot : slots) {
      for (const SlotArgs& earlier : *out) {
        if (earlier.slot == slot.parameter()) return Error(absl::StrCat("op '", desc.type(), "' has slot ", slot.parameter(), " twice"));
      }
      out->push_back({slot.parameter(), {}});
      if (slot.arguments_size() == 1 && slot.arguments(0) == kEmptyArgument) continue;
      for (const std::string& name : slot.arguments()) out->back().vars.push_back(read ? Read(block, name) : Write(block, name));
    }
    return absl::OkStatus();
  };
  AMPC_RETURN_IF_ERROR(gather(desc.inputs(), true, inputs));
  return gather(desc.outputs(), false, outputs);
}

void Importer::AddCaptures(int block, const OpDef* def, const std::vector<int>& children, PaddleOrigin::OpInfo* info,
                           std::vector<SlotArgs>* inputs, std::vector<SlotArgs>* outputs) {
  absl::flat_hash_set<const Var*> listed, written;
  for (const SlotArgs& slot : *inputs) listed.insert(slot.vars.begin(), slot.vars.end());
  for (const SlotArgs& slot : *outputs) {
    listed.insert(slot.vars.begin(), slot.vars.end());
    written.insert(slot.vars.begin(), slot.vars.end());
  }
  // The slot that takes captured values: one that the file or the record has.
  const auto slot_for = [def](std::initializer_list<const char*> names, bool input, std::vector<SlotArgs>* slots) -> SlotArgs* {
    for (const char* name : names) {
      for (SlotArgs& slot : *slots) {
        if (slot.slot == name) return &slot;
      }
      if (def != nullptr && (input ? def->InputSlot(name) : def->OutputSlot(name)) >= 0) {
        slots->push_back({name, {}});
        return &slots->back();
      }
    }
    slots->push_back({*names.begin(), {}});
    return &slots->back();
  };
  for (const int child : children) {
    for (Var* var : captures_[child].writes) {
      Captures& outer = captures_[block];
      if (&var->block() != &program_.block(block) && outer.seen_writes.insert(var).second) outer.writes.push_back(var);
      if (!written.insert(var).second) continue;
      listed.insert(var);
      SlotArgs* slot = slot_for({"Out"}, false, outputs);
      slot->vars.push_back(var);
      info->output_slot = slot->slot;
      ++info->added_outputs;
    }
    for (Var* var : captures_[child].reads) {
      Captures& outer = captures_[block];
      if (&var->block() != &program_.block(block) && outer.seen_reads.insert(var).second) outer.reads.push_back(var);
      if (!listed.insert(var).second) continue;
      SlotArgs* slot = slot_for({"X", "Input"}, true, inputs);
      slot->vars.push_back(var);
      info->input_slot = slot->slot;
      ++info->added_inputs;
    }
  }
}

const OpDef* Importer::OpaqueFor(const OpDesc& desc, const std::vector<SlotArgs>& inputs, const std::vector<SlotArgs>& outputs) {
  std::vector<std::string> ins, outs;
  for (const SlotArgs& slot : inputs) ins.push_back(slot.slot);
  for (const SlotArgs& slot : outputs) outs.push_back(slot.slot);
  return program_.OpaqueDef(desc.type(), ins, outs);
}

absl::Status Importer::ImportOp(int block, int position) {
  const OpDesc& desc = origin_->desc.blocks(block).ops(position);
  PaddleOrigin::OpInfo info;
  info.block = block;
  info.op = position;
  std::vector<int> children;
  std::vector<SlotArgs> inputs, outputs;
  AMPC_RETURN_IF_ERROR(ImportNested(block, desc, &children));
  AMPC_RETURN_IF_ERROR(GatherArgs(block, desc, &inputs, &outputs));
  const OpDef* def = FindRecord(desc.type());
  if (!children.empty()) AddCaptures(block, def, children, &info, &inputs, &outputs);
  const bool fits = def != nullptr && SlotsFit(def->inputs, inputs, false) && SlotsFit(def->outputs, outputs, true) && AttrsFit(*def, desc);
  if (!fits) def = OpaqueFor(desc, inputs, outputs);

  std::unique_ptr<Op> op = program_.block(block).NewOp(def);
  for (const SlotArgs& slot : inputs) {
    if (!slot.vars.empty()) op->SetInputs(def->InputSlot(slot.slot), slot.vars);
  }
  for (const SlotArgs& slot : outputs) {
    if (!slot.vars.empty()) op->SetOutputs(def->OutputSlot(slot.slot), slot.vars);
  }
  for (const OpDesc_Attr& attr : desc.attrs()) {
    if (attr.name() == kUndoAttr) op->marks = DecodeMarks(attr.s());
    if (!Carried(attr)) continue;
    std::optional<AttrValue> value = ImportAttr(attr, def->FindAttr(attr.name()));
    if (value.has_value()) op->SetAttr(attr.name(), *std::move(value));
  }
  op->origin = static_cast<int>(origin_->ops.size());
  origin_->ops.push_back(std::move(info));
  CompleteTypes(*program_.block(block).Append(std::move(op)));
  return absl::OkStatus();
}

}  // namespace ampc::paddle
