#include "graph/text/op_build.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::text {
namespace {

std::string SlotNames(const std::vector<SlotDef>& slots) {
  return absl::StrJoin(slots, ", ", [](std::string* out, const SlotDef& slot) { out->append(slot.name); });
}

std::string SuggestOp(absl::string_view type) {
  std::vector<std::string> names;
  for (const OpDef* def : Ops().All()) names.push_back(def->name);
  return Suggest(type, names);
}

bool Repeats(const std::vector<OpText::Slot>& slots) {
  std::vector<absl::string_view> names;
  for (const OpText::Slot& slot : slots) names.push_back(slot.name);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

std::vector<std::string> Names(const std::vector<OpText::Slot>& slots) {
  std::vector<std::string> names;
  for (const OpText::Slot& slot : slots) names.emplace_back(slot.name);
  return names;
}

// The slot of name `i` of the short form: its own, or slot 0 for all when that is variadic. -1: nowhere.
int ShortSlot(const std::vector<SlotDef>& slots, size_t i) {
  if (slots.empty()) return -1;
  if (slots[0].variadic) return 0;
  return i < slots.size() && !slots[i].variadic ? static_cast<int>(i) : -1;
}

}  // namespace

absl::Status OpBuilder::Error(const OpText& text, absl::string_view message) const {
  return cursor_.ErrorAt(text.line, absl::StrCat("op '", text.type, "': ", message));
}

absl::StatusOr<const OpDef*> OpBuilder::OpaqueRecord(const OpText& text) {
  if ((!text.operands.empty() && !text.long_operands) || (!text.results.empty() && !text.long_results)) {
    return Error(text, "found operands or results without slots, needed Slot=name for each, because the op is opaque");
  }
  if (Repeats(text.operand_slots) || Repeats(text.result_slots)) return Error(text, "found a slot twice, needed it once");
  return program_.OpaqueDef(text.type, Names(text.operand_slots), Names(text.result_slots));
}

absl::StatusOr<const OpDef*> OpBuilder::Def(const OpText& text) {
  if (text.opaque) return OpaqueRecord(text);
  auto it = defs_.find(text.type);
  if (it != defs_.end()) return it->second;
  const OpDef* def = Ops().Find(text.type);
  if (def == nullptr)
    return Error(text, absl::StrCat("found no record of that name, needed one, or the mark !opaque", SuggestOp(text.type)));
  defs_.emplace(std::string(text.type), def);
  return def;
}

absl::Status OpBuilder::SetOperands(const OpText& text, const Block& block, Op& op) {
  const std::vector<SlotDef>& slots = op.def().inputs;
  const auto find = [&](const OpText::Name& name) -> absl::Status {
    if (name.absent) return absl::OkStatus();
    vars_.push_back(block.FindVisible(name.text));
    if (vars_.back() != nullptr) return absl::OkStatus();
    return Error(text, absl::StrCat("found the operand '", name.text, "', needed a name that is declared or defined above"));
  };
  if (!text.long_operands) {
    vars_.clear();
    for (size_t i = 0; i < text.operands.size(); ++i) {
      const int slot = ShortSlot(slots, i);
      if (slot < 0) {
        return Error(text, absl::StrCat("found operand ", i + 1, " without a slot, needed Slot=name; the slots are ", SlotNames(slots)));
      }
      if (!slots[slot].variadic) vars_.clear();
      AMPC_RETURN_IF_ERROR(find(text.operands[i]));
      if (!slots[slot].variadic) op.SetInputs(slot, vars_);
    }
    if (!slots.empty() && slots[0].variadic) op.SetInputs(0, vars_);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < text.operand_slots.size(); ++i) {
    const OpText::Slot& slot = text.operand_slots[i];
    const int index = text.opaque ? static_cast<int>(i) : op.def().InputSlot(slot.name);
    if (index < 0) return Error(text, absl::StrCat("found the operand slot ", slot.name, ", needed one of ", SlotNames(slots)));
    if (!op.inputs(index).empty()) return Error(text, absl::StrCat("found the slot ", slot.name, " twice, needed it once"));
    vars_.clear();
    for (size_t n = slot.begin; n < slot.end; ++n) AMPC_RETURN_IF_ERROR(find(text.operands[n]));
    op.SetInputs(index, vars_);
  }
  return absl::OkStatus();
}

absl::StatusOr<Var*> OpBuilder::Result(const OpText::Name& name, OpText& text, Block& block) {
  Var* seen = block.FindVisible(name.text);
  if (name.overwrites) {
    if (seen == nullptr)
      return Error(text, absl::StrCat("found '", name.text, "' behind '<-', needed a param, state or carry declared above"));
    if (seen->IsWritable()) return seen;
    return Error(text,
                 absl::StrCat("found the ", ampc::Name(seen->kind), " '", name.text, "' to overwrite, needed a param, state or carry"));
  }
  if (seen != nullptr) {
    return Error(text, absl::StrCat("found '", name.text, "' as a new result, needed a name that no ", ampc::Name(seen->kind), " has",
                                    seen->IsWritable() ? ", or '<-' to overwrite it" : ""));
  }
  TensorType type;
  if (text.typed && new_.size() < text.types.size()) type = std::move(text.types[new_.size()]);
  new_.push_back(block.AddVar(std::string(name.text), VarKind::kTemp, std::move(type)));
  return new_.back();
}

absl::Status OpBuilder::SetResults(OpText& text, Block& block, Op& op) {
  const std::vector<SlotDef>& slots = op.def().outputs;
  new_.clear();
  const auto add = [&](const OpText::Name& name) -> absl::Status {
    if (name.absent) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(Var * var, Result(name, text, block));
    vars_.push_back(var);
    return absl::OkStatus();
  };
  vars_.clear();
  if (!text.long_results) {
    for (size_t i = 0; i < text.results.size(); ++i) {
      const int slot = ShortSlot(slots, i);
      if (slot < 0) {
        return Error(text,
                     absl::StrCat("found result ", i + 1, " without a slot, needed '-> Slot=name'; the slots are ", SlotNames(slots)));
      }
      if (!slots[slot].variadic) vars_.clear();
      AMPC_RETURN_IF_ERROR(add(text.results[i]));
      if (!slots[slot].variadic) op.SetOutputs(slot, vars_);
    }
    if (!slots.empty() && slots[0].variadic) op.SetOutputs(0, vars_);
  }
  for (size_t i = 0; i < text.result_slots.size(); ++i) {
    const OpText::Slot& slot = text.result_slots[i];
    const int index = text.opaque ? static_cast<int>(i) : op.def().OutputSlot(slot.name);
    if (index < 0) return Error(text, absl::StrCat("found the result slot ", slot.name, ", needed one of ", SlotNames(slots)));
    if (!op.outputs(index).empty()) return Error(text, absl::StrCat("found the slot ", slot.name, " twice, needed it once"));
    vars_.clear();
    for (size_t n = slot.begin; n < slot.end; ++n) AMPC_RETURN_IF_ERROR(add(text.results[n]));
    op.SetOutputs(index, vars_);
  }
  if (!text.typed || new_.size() == text.types.size()) return absl::OkStatus();
  return Error(text,
               absl::StrCat("found ", text.types.size(), " types, needed ", new_.size(), ", one for each result that the op defines"));
}

absl::Status OpBuilder::CheckCount(const OpText& text, absl::string_view mark, size_t found) const {
  if (found <= 1 || found == new_.size()) return absl::OkStatus();
  return Error(text, absl::StrCat("found ", found, " values in the mark !", mark, ", needed ", new_.size(),
                                  ", one for each result that the op defines"));
}

absl::Status OpBuilder::SetResultMarks(const OpText& text) {
  AMPC_RETURN_IF_ERROR(CheckCount(text, "was", text.was.size()));
  AMPC_RETURN_IF_ERROR(CheckCount(text, "as", text.export_names.size()));
  AMPC_RETURN_IF_ERROR(CheckCount(text, "stop_gradient", text.stop_gradient.size()));
  for (size_t i = 0; i < new_.size(); ++i) {
    const auto at = [i](const auto& list) { return list.size() == 1 ? 0 : i; };
    if (!text.was.empty()) new_[i]->was = text.was[at(text.was)];
    if (!text.export_names.empty()) new_[i]->export_name = text.export_names[at(text.export_names)];
    if (!text.stop_gradient.empty()) new_[i]->stop_gradient = text.stop_gradient[at(text.stop_gradient)];
  }
  return absl::OkStatus();
}

absl::Status OpBuilder::Append(OpText& text, Block& block) {
  AMPC_ASSIGN_OR_RETURN(const OpDef* def, Def(text));
  std::unique_ptr<Op> op = block.NewOp(def);
  op->line = text.line;
  AMPC_RETURN_IF_ERROR(SetOperands(text, block, *op));
  AMPC_RETURN_IF_ERROR(SetResults(text, block, *op));
  AMPC_RETURN_IF_ERROR(SetResultMarks(text));
  for (Attr& attr : text.attrs) op->SetAttr(attr.name, std::move(attr.value));
  op->marks = std::move(text.marks);
  block.Append(std::move(op));
  return absl::OkStatus();
}

}  // namespace ampc::text
