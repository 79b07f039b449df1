#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "graph/formats/paddle/export.h"
#include "graph/formats/paddle/types.h"
#include "graph/formats/paddle/undo.h"

namespace ampc::paddle {
namespace {

// The versions that share one name of the file, in order of definition.
struct Named {
  const std::string* name = nullptr;
  absl::InlinedVector<const Var*, 1> vars;
};

VarUndo UndoFor(const Named& named, const VarDesc& desc, const ExportNames& names) {
  VarUndo undo;
  for (const Var* var : named.vars) undo.was.push_back(var->was);
  const Var& first = *named.vars[0];
  if (names.Renamed(first) && first.exported() != *named.name) undo.as = first.exported();
  undo.frozen = first.kind == VarKind::kParam && !first.trainable && desc.is_parameter() && !desc.stop_gradient();
  return undo;
}

const VarDesc_Attr* FindUndo(const VarDesc& desc) {
  for (const VarDesc_Attr& attr : desc.attrs()) {
    if (attr.name() == kUndoAttr) return &attr;
  }
  return nullptr;
}

void SetUndo(const std::string& undo, VarDesc* desc) {
  auto* attrs = desc->mutable_attrs();
  attrs->erase(std::remove_if(attrs->begin(), attrs->end(), [](const VarDesc_Attr& a) { return a.name() == kUndoAttr; }), attrs->end());
  if (undo.empty()) return;
  VarDesc_Attr* attr = attrs->Add();
  attr->set_name(std::string(kUndoAttr));
  attr->set_type(2);
  attr->set_s(undo);
}

void AppendNewVar(const Named& named, const ExportNames& names, const PaddleOrigin* origin, std::string* out) {
  const Var& var = *named.vars[0];
  VarDesc desc;
  desc.set_name(*named.name);
  ExportType(var.type, desc.mutable_type());
  if (IsPersistable(var, origin)) desc.set_persistable(true);
  const bool flagged = var.trainable || (origin != nullptr && origin->has_parameter_flags);
  if (var.kind == VarKind::kParam && flagged) desc.set_is_parameter(true);
  if (var.stop_gradient) desc.set_stop_gradient(true);
  SetUndo(EncodeVarUndo(UndoFor(named, desc, names)), &desc);
  AppendField(3, desc, out);
}

// A dimension that became known is no change: the file may go on saying that it is not.
bool SameInFile(const TensorType& now, const TensorType& then) {
  const bool dtype = now.dtype == then.dtype || then.kind == TypeKind::kOpaque;
  return dtype && now.kind == then.kind && Compatible(now, then);
}

// Nothing about the variable can differ from the file, without looking into the file.
bool Untouched(const Named& named, const Var* changed, const ExportNames& names, const PaddleOrigin& origin) {
  if (changed != nullptr || origin.has_var_undo) return false;
  return std::all_of(named.vars.begin(), named.vars.end(), [&names](const Var* var) {
    return var->was == DType::kInvalid && var->kind != VarKind::kParam && var->kind != VarKind::kConst && !names.Renamed(*var);
  });
}

// The variable as the file had it, with changed types and marks.
void AppendOldVar(absl::string_view bytes, const Named& named, const ExportNames& names, const PaddleOrigin& origin, VarDesc* desc,
                  std::string* out) {
  const Var* changed = nullptr;
  for (const Var* var : named.vars) {
    if (var->origin < 0 || !SameInFile(var->type, origin.values[var->origin].type)) changed = var;
  }
  if (Untouched(named, changed, names, origin)) return AppendBytesField(3, bytes, out);
  (void)ParseSubmessage(bytes, desc);
  const std::string undo = EncodeVarUndo(UndoFor(named, *desc, names));
  const VarDesc_Attr* had = FindUndo(*desc);
  const bool stored = named.vars[0]->kind == VarKind::kConst && !desc->persistable();
  if (!stored && changed == nullptr && (had == nullptr ? undo.empty() : had->s() == undo)) return AppendBytesField(3, bytes, out);
  if (changed != nullptr) {
    // Only the element type, unless the shape is another one.
    const bool dims = changed->origin < 0 || !Compatible(changed->type, origin.values[changed->origin].type.WithDType(changed->type.dtype));
    PatchType(changed->type, dims, desc->mutable_type());
  }
  if (stored) desc->set_persistable(true);
  SetUndo(undo, desc);
  AppendField(3, *desc, out);
}

}  // namespace

bool IsPersistable(const Var& var, const PaddleOrigin* origin) {
  if (var.kind != VarKind::kParam && var.kind != VarKind::kState && var.kind != VarKind::kConst) return false;
  if (var.kind == VarKind::kConst) return true;  // what an op made in the file is stored now
  return origin == nullptr || var.origin < 0 || origin->values[var.origin].persistable;
}

void WriteVars(const Block& block, const ExportNames& names, const PaddleOrigin* origin, std::string* out) {
  const int index = block.index();
  const size_t count =
      origin != nullptr && index < static_cast<int>(origin->layout.blocks.size()) ? origin->layout.blocks[index].vars.size() : 0;
  absl::flat_hash_map<absl::string_view, size_t> position;  // in the file
  position.reserve(count);
  for (size_t v = 0; v < count; ++v) position.emplace(StringField(origin->VarBytes(index, static_cast<int>(v)), 1), v);
  std::vector<Named> old_vars(count);
  std::vector<Named> new_vars;
  absl::flat_hash_map<absl::string_view, size_t> new_index;
  for (const std::unique_ptr<Var>& var : block.vars()) {
    const std::string& name = names.Of(*var);
    if (name == kEmptyArgument || names.IsImplicit(*var)) continue;
    Named* named = nullptr;
    if (const auto it = position.find(name); it != position.end()) {
      named = &old_vars[it->second];
    } else {
      // A name that no VarDesc declares stays undeclared.
      if (origin != nullptr && var->origin >= 0 && origin->values[var->origin].var < 0 && !names.Renamed(*var)) continue;
      const auto [slot, fresh] = new_index.try_emplace(name, new_vars.size());
      if (fresh) new_vars.emplace_back();
      named = &new_vars[slot->second];
    }
    named->name = &name;
    named->vars.push_back(var.get());
  }
  VarDesc scratch;
  for (size_t v = 0; v < count; ++v) {
    const absl::string_view bytes = origin->VarBytes(index, static_cast<int>(v));
    if (!old_vars[v].vars.empty()) {
      AppendOldVar(bytes, old_vars[v], names, *origin, &scratch, out);
    } else if (!origin->used_vars[index][v]) {
      AppendBytesField(3, bytes, out);
    }
  }
  for (const Named& named : new_vars) AppendNewVar(named, names, origin, out);
}

}  // namespace ampc::paddle
