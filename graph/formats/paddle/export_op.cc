#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/paddle/attr.h"
#include "graph/formats/paddle/export.h"
#include "graph/formats/paddle/types.h"
#include "graph/formats/paddle/undo.h"
#include "graph/implicit_cast.h"

namespace ampc::paddle {
namespace {

using Slots = google::protobuf::RepeatedPtrField<OpDesc_Var>;

// Paddle's name of the op.
absl::StatusOr<std::string> PaddleType(const OpDef& def) {
  for (const auto& [format, name] : def.aliases) {
    if (format == "paddle") return name;
  }
  if (def.name == "amp_cast") return std::string("cast");
  if (def.name == "amp_multicast" || absl::StrContains(def.name, '.')) {
    return UnsupportedError(absl::StrCat("op '", def.operator_name, "' has no form in a Paddle program; lower it to native ops first"));
  }
  return def.name;
}

bool IsCalled(const OpDef& def, absl::string_view type) {
  const auto named = [type](const auto& alias) { return alias.first == "paddle" && alias.second == type; };
  return def.name == type || std::any_of(def.aliases.begin(), def.aliases.end(), named);
}

// One slot as the file is to have it.
struct SlotNames {
  const std::string* slot;
  absl::InlinedVector<const std::string*, 4> names;
};
// How one op names its operands and results.
struct Naming {
  const ExportNames& names;
  const absl::flat_hash_map<const Var*, const Var*>& listed;

  const std::string& InOp(const Var& var) const {
    const auto it = listed.find(&var);
    return names.Of(it == listed.end() ? var : *it->second);
  }
};

using SlotList = absl::InlinedVector<SlotNames, 4>;

// The op's non-empty slots. Captured values that the importer appended behind the `listed` ones of a slot are left out.
SlotList NamesOf(const std::vector<SlotDef>& defs, const Op& op, bool inputs, const Naming& names, const std::string& added_slot, int added,
                 int listed) {
  SlotList out;
  for (size_t s = 0; s < defs.size(); ++s) {
    const absl::Span<Var* const> vars = inputs ? op.inputs(static_cast<int>(s)) : op.outputs(static_cast<int>(s));
    SlotNames slot{&defs[s].name, {}};
    const bool skips = added > 0 && defs[s].name == added_slot;
    for (size_t i = 0; i < vars.size(); ++i) {
      const auto at = static_cast<int>(i);
      if (skips && at >= listed && at < listed + added) continue;
      slot.names.push_back(&names.InOp(*vars[i]));
    }
    if (!slot.names.empty()) out.push_back(std::move(slot));
  }
  return out;
}

const OpDesc_Var* FindSlot(const Slots& slots, absl::string_view name) {
  for (const OpDesc_Var& slot : slots) {
    if (slot.parameter() == name) return &slot;
  }
  return nullptr;
}

int Listed(const Slots& slots, absl::string_view name) {
  const OpDesc_Var* slot = FindSlot(slots, name);
  return slot == nullptr ? 0 : slot->arguments_size();
}

bool IsAbsent(const OpDesc_Var& slot) {
  return slot.arguments().empty() || (slot.arguments_size() == 1 && slot.arguments(0) == kEmptyArgument);
}

bool SameNames(const OpDesc_Var& slot, const SlotNames& want) {
  return slot.arguments_size() == static_cast<int>(want.names.size()) &&
         std::equal(want.names.begin(), want.names.end(), slot.arguments().begin(),
                    [](const std::string* a, const std::string& b) { return *a == b; });
}

bool SameSlots(const Slots& slots, const SlotList& want) {
  size_t matched = 0;
  for (const OpDesc_Var& slot : slots) {
    const auto it = std::find_if(want.begin(), want.end(), [&slot](const SlotNames& w) { return *w.slot == slot.parameter(); });
    if (it == want.end() ? !IsAbsent(slot) : !SameNames(slot, *it)) return false;
    matched += it == want.end() ? 0 : 1;
  }
  return matched == want.size();
}

void PatchSlots(const SlotList& want, Slots* slots) {
  for (OpDesc_Var& slot : *slots) {
    const auto it = std::find_if(want.begin(), want.end(), [&slot](const SlotNames& w) { return *w.slot == slot.parameter(); });
    if (it == want.end() ? IsAbsent(slot) : SameNames(slot, *it)) continue;
    slot.clear_arguments();
    if (it == want.end()) continue;
    for (const std::string* name : it->names) slot.add_arguments(*name);
  }
  for (const SlotNames& w : want) {
    if (FindSlot(*slots, *w.slot) != nullptr) continue;
    OpDesc_Var* slot = slots->Add();
    slot->set_parameter(*w.slot);
    for (const std::string* name : w.names) slot->add_arguments(*name);
    // Paddle sorts slots by name.
    for (int i = slots->size() - 1; i > 0 && slots->Get(i - 1).parameter() > slots->Get(i).parameter(); --i) slots->SwapElements(i - 1, i);
  }
}

// Whether the op still has the attribute as the file says it.
bool SameAttrIn(const Op& op, const OpDesc_Attr& attr) {
  if (StaysInOrigin(attr.name())) return true;
  const std::optional<AttrValue> had = ImportAttr(attr, op.def().FindAttr(attr.name()));
  if (!had.has_value()) return true;  // never left the origin
  const AttrValue* has = op.explicit_attr(attr.name());
  return has != nullptr && SameAttr(*had, *has);
}

bool SameAttrs(const Op& op, const OpDesc& desc, const std::string& undo) {
  size_t in_op = 0;
  bool undo_found = undo.empty();
  for (const OpDesc_Attr& attr : desc.attrs()) {
    if (attr.name() == kUndoAttr) {
      if (attr.s() != undo) return false;
      undo_found = true;
      continue;
    }
    if (!SameAttrIn(op, attr)) return false;
    if (op.explicit_attr(attr.name()) != nullptr) ++in_op;
  }
  return undo_found && in_op == op.attrs().size();
}

void AddUndo(const std::string& undo, OpDesc* desc) {
  if (undo.empty()) return;
  OpDesc_Attr* attr = desc->add_attrs();
  attr->set_name(std::string(kUndoAttr));
  ExportAttr(undo, attr);
}

void PatchAttrs(const Op& op, const std::string& undo, OpDesc* desc) {
  auto* attrs = desc->mutable_attrs();
  const auto gone = [&op](const OpDesc_Attr& attr) {
    if (attr.name() == kUndoAttr) return true;
    return !SameAttrIn(op, attr) && op.explicit_attr(attr.name()) == nullptr;
  };
  attrs->erase(std::remove_if(attrs->begin(), attrs->end(), gone), attrs->end());
  for (OpDesc_Attr& attr : *attrs) {
    if (!SameAttrIn(op, attr)) ExportAttr(*op.explicit_attr(attr.name()), &attr);
  }
  for (const Attr& attr : op.attrs()) {
    const bool there = std::any_of(attrs->begin(), attrs->end(), [&attr](const OpDesc_Attr& a) { return a.name() == attr.name; });
    if (there) continue;
    OpDesc_Attr* added = attrs->Add();
    added->set_name(attr.name);
    ExportAttr(attr.value, added);
  }
  AddUndo(undo, desc);
}

// Attributes that every op made by Paddle's own front end has.
void AddFrontEndAttrs(std::map<std::string, AttrValue>* attrs) {
  attrs->try_emplace("op_role", int32_t{0});
  attrs->try_emplace("op_namescope", std::string("/"));
  attrs->try_emplace("op_device", std::string());
}

// Paddle wants these results named also where the op does not write them, in a test: as the operands whose place they would take.
void NameStatistics(const Op& op, const Naming& names, SlotList* outputs) {
  if (op.type() != "batch_norm" || !op.GetBool("is_test")) return;
  static const auto& slots =
      *new std::array<std::pair<std::string, absl::string_view>, 2>{{{"MeanOut", "Mean"}, {"VarianceOut", "Variance"}}};
  for (const auto& [result, operand] : slots) {
    if (op.output(result) == nullptr && op.input(operand) != nullptr) outputs->push_back({&result, {&names.InOp(*op.input(operand))}});
  }
}

absl::Status MakeOp(const Op& op, const Naming& names, const std::string& undo, OpDesc* desc) {
  AMPC_ASSIGN_OR_RETURN(*desc->mutable_type(), PaddleType(op.def()));
  PatchSlots(NamesOf(op.def().inputs, op, true, names, "", 0, 0), desc->mutable_inputs());
  SlotList outputs = NamesOf(op.def().outputs, op, false, names, "", 0, 0);
  NameStatistics(op, names, &outputs);
  PatchSlots(outputs, desc->mutable_outputs());
  std::map<std::string, AttrValue> attrs;
  for (const Attr& attr : op.attrs()) attrs.insert_or_assign(attr.name, attr.value);
  for (const AttrDef& def : op.def().attrs) {
    if (!def.required && !def.extra) attrs.try_emplace(def.name, def.value);
  }
  if (desc->type() == "cast" && op.input(0) != nullptr && op.output(0) != nullptr) {
    attrs.insert_or_assign("in_dtype", op.input(0)->type.dtype);
    attrs.insert_or_assign("out_dtype", op.output(0)->type.dtype);
  }
  AddFrontEndAttrs(&attrs);
  for (const auto& [name, value] : attrs) {
    OpDesc_Attr* attr = desc->add_attrs();
    attr->set_name(name);
    ExportAttr(value, attr);
  }
  AddUndo(undo, desc);
  return absl::OkStatus();
}

}  // namespace

absl::Status OpWriter::Write(const Op& op, std::string* out) {
  if (IsImplicitCast(op)) return absl::OkStatus();
  if (IsListedCast(op)) listed_[op.inputs()[0]] = op.outputs()[0];
  absl::flat_hash_map<const Var*, const Var*> listed;
  if (!listed_.empty() && !op.SubBlocks().empty()) listed = std::exchange(listed_, {});
  return WriteNamed(op, listed, out);
}

absl::Status OpWriter::WriteNamed(const Op& op, const absl::flat_hash_map<const Var*, const Var*>& listed, std::string* out) {
  const Naming names{names_, listed};
  const auto implicit = [this](const Var* var) { return names_.IsImplicit(*var); };
  const std::string undo = EncodeMarks(op.marks, std::any_of(op.inputs().begin(), op.inputs().end(), implicit));
  if (origin_ == nullptr || op.origin < 0) {
    OpDesc made;
    AMPC_RETURN_IF_ERROR(MakeOp(op, names, undo, &made));
    AppendField(4, made, out);
    return absl::OkStatus();
  }
  static const PaddleOrigin::Added kNothing;
  const auto added = origin_->added.find(op.origin);
  const PaddleOrigin::Added& more = added == origin_->added.end() ? kNothing : added->second;
  const PaddleOrigin::OpPlace& place = origin_->ops[op.origin];
  const absl::string_view bytes = origin_->OpBytes(place.block, place.op);
  (void)ParseSubmessage(bytes, &had_);
  std::string type = had_.type();
  if (!IsCalled(op.def(), type)) {
    AMPC_ASSIGN_OR_RETURN(type, PaddleType(op.def()));
  }
  const SlotList inputs = NamesOf(op.def().inputs, op, true, names, more.input_slot, more.inputs, Listed(had_.inputs(), more.input_slot));
  const SlotList outputs =
      NamesOf(op.def().outputs, op, false, names, more.output_slot, more.outputs, Listed(had_.outputs(), more.output_slot));
  if (type == had_.type() && SameSlots(had_.inputs(), inputs) && SameSlots(had_.outputs(), outputs) && SameAttrs(op, had_, undo)) {
    AppendBytesField(4, bytes, out);
    return absl::OkStatus();
  }
  had_.set_type(type);
  PatchSlots(inputs, had_.mutable_inputs());
  PatchSlots(outputs, had_.mutable_outputs());
  PatchAttrs(op, undo, &had_);
  AppendField(4, had_, out);
  return absl::OkStatus();
}

}  // namespace ampc::paddle
