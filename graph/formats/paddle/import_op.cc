#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/paddle/attr.h"
#include "graph/formats/paddle/importer.h"
#include "graph/formats/paddle/undo.h"
#include "graph/implicit_cast.h"
#include "graph/infer_memo.h"
#include "graph/op_registry.h"

namespace ampc::paddle {
namespace {

using Slots = google::protobuf::RepeatedPtrField<OpDesc_Var>;

// The record of a Paddle op type, null for none.
const OpDef* FindRecord(absl::string_view type) {
  static const auto& aliases = *[] {
    auto* map = new absl::flat_hash_map<std::string, const OpDef*>();
    for (const OpDef* def : Ops().All()) {
      for (const auto& [format, name] : def->aliases) {
        if (format == "paddle") map->emplace(name, def);
      }
    }
    for (const OpDef* def : Ops().All()) map->emplace(def->name, def);
    return map;
  }();
  const auto it = aliases.find(type);
  return it != aliases.end() ? it->second : Ops().Find(type);
}

bool Carried(const OpDesc_Attr& attr) { return !StaysInOrigin(attr.name()) && attr.name() != kUndoAttr; }

// False when the record does not have the slot, or takes fewer operands there, or misses a required one.
template <typename ArgList>
bool SlotsFit(const std::vector<SlotDef>& defs, const ArgList& args, bool outputs) {
  size_t required = 0, given = 0;
  for (const SlotDef& def : defs) required += def.optional ? 0 : 1;
  for (const auto& arg : args) {
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

// The op's attributes as `def` wants them; nullopt when one does not fit the record, or a required one is missing. A null
// `def` takes everything.
std::optional<std::vector<Attr>> ImportAttrs(const OpDef* def, const OpDesc& desc) {
  std::vector<Attr> attrs;
  attrs.reserve(desc.attrs_size());
  size_t required = 0, given = 0;
  for (const OpDesc_Attr& attr : desc.attrs()) {
    if (!Carried(attr)) continue;
    const AttrDef* attr_def = def == nullptr ? nullptr : def->FindAttr(attr.name());
    std::optional<AttrValue> value = ImportAttr(attr, attr_def);
    if (!value.has_value() && attr_def != nullptr) return std::nullopt;
    if (!value.has_value()) continue;  // a kind of attribute from a later version: stays in the origin
    if (attr_def != nullptr && attr_def->required) ++given;
    attrs.push_back({attr.name(), *std::move(value)});
  }
  if (def == nullptr) return attrs;
  for (const AttrDef& attr : def->attrs) required += attr.required ? 1 : 0;
  if (given != required) return std::nullopt;
  return attrs;
}

// A value that several ops write has the dims on which they agree: the file has those of the last one that was added.
void Widen(const TensorType& written, TensorType* type) {
  if (!type->has_rank || !written.has_rank || written.kind != type->kind) return;
  if (written.rank() != type->rank()) {
    type->has_rank = false;
    type->dims.clear();
    return;
  }
  for (int d = 0; d < type->rank(); ++d) {
    if (IsKnown(written.dims[d]) && written.dims[d] != type->dims[d]) type->dims[d] = kUnknownDim;
  }
}

// Fills what the file does not say about results from the op's inference. If they disagree about a temporary, the op's
// inference is right: declared types go stale when programs are rewritten.
void CompleteTypes(const Op& op, InferMemo* memo) {
  const absl::StatusOr<const std::vector<std::optional<TensorType>>*> answer = memo->Infer(op);
  if (!answer.ok()) return;  // the verifier reports it
  const std::vector<std::optional<TensorType>>& inferred = **answer;
  for (size_t i = 0; i < inferred.size(); ++i) {
    if (!inferred[i].has_value()) continue;
    const TensorType& want = *inferred[i];
    Var& var = *op.outputs()[i];
    if (var.kind == VarKind::kCarry) Widen(want, &var.type);
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
    if (!IsBlocks(attr)) continue;
    for (const int child : BlocksOf(attr)) {
      if (child < 0 || child >= program_.num_blocks()) {
        return Error(absl::StrCat("op '", desc.type(), "' refers to block ", child, ", the program has ", program_.num_blocks()));
      }
      if (child == 0 || program_.block(child).parent() != block || entered_[child]) continue;
      AMPC_RETURN_IF_ERROR(ImportBlock(child));
      children->push_back(child);
    }
  }
  return absl::OkStatus();
}

absl::Status Importer::GatherArgs(int block, const OpDesc& desc, ArgList* inputs, ArgList* outputs) {
  const auto gather = [&](const Slots& slots, bool read, ArgList* out) -> absl::Status {
    for (const OpDesc_Var& slot : slots) {
      for (const SlotArgs& earlier : *out) {
        if (earlier.slot == slot.parameter()) return Error(absl::StrCat("op '", desc.type(), "' has slot ", slot.parameter(), " twice"));
      }
      out->push_back({slot.parameter(), {}});
      if (slot.arguments_size() == 1 && slot.arguments(0) == kEmptyArgument) continue;
      for (const std::string& argument : slot.arguments()) {
        const absl::string_view name = Unlisted(block, desc, argument);
        out->back().vars.push_back(read ? Read(block, name) : Write(block, name));
      }
    }
    return absl::OkStatus();
  };
  AMPC_RETURN_IF_ERROR(gather(desc.inputs(), true, inputs));
  return gather(desc.outputs(), false, outputs);
}

// The operands of a control op that lists the result of a listed cast.
absl::string_view Importer::Unlisted(int block, const OpDesc& desc, absl::string_view name) {
  if (listed_.empty() || std::none_of(desc.attrs().begin(), desc.attrs().end(), IsBlocks)) return name;
  const auto it = listed_.find(scopes_.Resolve(block, name).current);
  return it == listed_.end() ? name : absl::string_view(it->second->exported());
}

void Importer::AddCaptures(int block, const OpDef* def, const std::vector<int>& children, PaddleOrigin::Added* added, ArgList* inputs,
                           ArgList* outputs) {
  absl::flat_hash_set<const Var*> listed, written;
  for (const SlotArgs& slot : *inputs) listed.insert(slot.vars.begin(), slot.vars.end());
  for (const SlotArgs& slot : *outputs) {
    listed.insert(slot.vars.begin(), slot.vars.end());
    written.insert(slot.vars.begin(), slot.vars.end());
  }
  // The slot that takes captured values: one that the file or the record has.
  const auto slot_for = [def](std::initializer_list<const char*> names, bool input, ArgList* slots) -> SlotArgs* {
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
      added->output_slot = std::string(slot->slot);
      ++added->outputs;
    }
    for (Var* var : captures_[child].reads) {
      Captures& outer = captures_[block];
      if (&var->block() != &program_.block(block) && outer.seen_reads.insert(var).second) outer.reads.push_back(var);
      if (!listed.insert(var).second) continue;
      SlotArgs* slot = slot_for({"X", "Input"}, true, inputs);
      slot->vars.push_back(var);
      added->input_slot = std::string(slot->slot);
      ++added->inputs;
    }
  }
}

const OpDef* Importer::OpaqueFor(const OpDesc& desc, const ArgList& inputs, const ArgList& outputs) {
  std::vector<std::string> ins, outs;
  for (const SlotArgs& slot : inputs) ins.emplace_back(slot.slot);
  for (const SlotArgs& slot : outputs) outs.emplace_back(slot.slot);
  return program_.OpaqueDef(desc.type(), ins, outs);
}

absl::Status Importer::ImportOp(int block, int position, const OpDesc& desc) {
  PaddleOrigin::Added added;
  std::vector<int> children;
  ArgList inputs, outputs;
  AMPC_RETURN_IF_ERROR(ImportNested(block, desc, &children));
  AMPC_RETURN_IF_ERROR(GatherArgs(block, desc, &inputs, &outputs));
  const OpDef* def = FindRecord(desc.type());
  if (!children.empty()) AddCaptures(block, def, children, &added, &inputs, &outputs);
  std::optional<std::vector<Attr>> attrs;
  if (def != nullptr && SlotsFit(def->inputs, inputs, false) && SlotsFit(def->outputs, outputs, true)) attrs = ImportAttrs(def, desc);
  if (!attrs.has_value()) {
    def = OpaqueFor(desc, inputs, outputs);
    attrs = ImportAttrs(nullptr, desc);
  }
  std::unique_ptr<Op> op = program_.block(block).NewOp(def);
  for (const SlotArgs& slot : inputs) {
    if (!slot.vars.empty()) op->SetInputs(def->InputSlot(slot.slot), slot.vars);
  }
  for (const SlotArgs& slot : outputs) {
    if (!slot.vars.empty()) op->SetOutputs(def->OutputSlot(slot.slot), slot.vars);
  }
  for (Attr& attr : *attrs) op->SetAttr(attr.name, std::move(attr.value));
  bool converts = false;
  for (const OpDesc_Attr& attr : desc.attrs()) {
    if (attr.name() != kUndoAttr) continue;
    op->marks = DecodeMarks(attr.s());
    converts = Converts(attr.s());
  }
  if (IsListedCast(*op) && op->inputs().size() == 1 && op->outputs().size() == 1) listed_[op->outputs()[0]] = op->inputs()[0];
  op->origin = static_cast<int>(origin_->ops.size());
  if (added.inputs + added.outputs > 0) origin_->added[op->origin] = std::move(added);
  origin_->ops.push_back({block, position});
  AppendOp(std::move(op), converts);
  return absl::OkStatus();
}

// `converts`: the results are what the file declares, whatever the operands are.
void Importer::AppendOp(std::unique_ptr<Op> op, bool converts) {
  if (converts) {
    const CastResult result = [this, &op](const Var& source, DType type) {
      std::string name = absl::StrCat(source.name(), ".", Name(type));
      for (int n = 1; scopes_.NameInFile(name) || program_.NameTaken(name); ++n)
        name = absl::StrCat(source.name(), ".", Name(type), ".", n);
      return op->block().AddVar(std::move(name), VarKind::kTemp, source.type.WithDType(type));
    };
    for (std::unique_ptr<Op>& cast : MakeImplicitCasts(*op, result)) op->block().Append(std::move(cast));
  }
  CompleteTypes(*op, &inferred_);
  Block& block = op->block();
  block.Append(std::move(op));
}

}  // namespace ampc::paddle
