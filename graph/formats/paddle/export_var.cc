#include <algorithm>
#include <map>

#include "graph/formats/paddle/export.h"
#include "graph/formats/paddle/types.h"
#include "graph/formats/paddle/undo.h"

namespace ampc::paddle {
namespace {

// The versions that share one name of the file, in order of definition.
struct Named {
  const std::string* name = nullptr;
  std::vector<const Var*> vars;
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

// The variable as the file had it, with changed types and marks.
void AppendOldVar(const VarDesc& desc, const Named& named, const ExportNames& names, const PaddleOrigin& origin, std::string* out) {
  const std::string undo = EncodeVarUndo(UndoFor(named, desc, names));
  const VarDesc_Attr* had = FindUndo(desc);
  const Var* changed = nullptr;
  for (const Var* var : named.vars) {
    if (var->origin < 0 || !SameInFile(var->type, origin.values[var->origin].type)) changed = var;
  }
  if (changed == nullptr && (had == nullptr ? undo.empty() : had->s() == undo)) {
    AppendField(3, desc, out);
    return;
  }
  VarDesc copy = desc;
  if (changed != nullptr) {
    // Only the element type, unless the shape is another one.
    const bool dims = changed->origin < 0 || !Compatible(changed->type, origin.values[changed->origin].type.WithDType(changed->type.dtype));
    PatchType(changed->type, dims, copy.mutable_type());
  }
  SetUndo(undo, &copy);
  AppendField(3, copy, out);
}

}  // namespace

bool IsPersistable(const Var& var, const PaddleOrigin* origin) {
  if (var.kind != VarKind::kParam && var.kind != VarKind::kState && var.kind != VarKind::kConst) return false;
  if (origin == nullptr || var.origin < 0) return true;
  const VarDesc* desc = origin->var_desc(var.origin);
  return desc != nullptr && desc->persistable();
}

void WriteVars(const Block& block, const ExportNames& names, const PaddleOrigin* origin, std::string* out) {
  const bool has_desc = origin != nullptr && block.index() < origin->desc.blocks_size();
  const BlockDesc* desc = has_desc ? &origin->desc.blocks(block.index()) : nullptr;
  std::map<absl::string_view, int> position;  // in the file
  for (int v = 0; desc != nullptr && v < desc->vars_size(); ++v) position.emplace(desc->vars(v).name(), v);
  std::vector<Named> old_vars(desc == nullptr ? 0 : desc->vars_size());
  std::vector<Named> new_vars;
  std::map<absl::string_view, size_t> new_index;
  for (const std::unique_ptr<Var>& var : block.vars()) {
    const std::string& name = names.Of(*var);
    if (name == kEmptyArgument) continue;
    const auto it = position.find(name);
    if (it == position.end()) {
      // A name that no VarDesc declares stays undeclared.
      const bool undeclared = origin != nullptr && var->origin >= 0 && origin->values[var->origin].var < 0 && !names.Renamed(*var);
      if (undeclared) continue;
      const auto [slot, fresh] = new_index.try_emplace(name, new_vars.size());
      if (fresh) new_vars.emplace_back();
    }
    Named& named = it == position.end() ? new_vars[new_index.find(name)->second] : old_vars[it->second];
    named.name = &name;
    named.vars.push_back(var.get());
  }
  for (size_t v = 0; v < old_vars.size(); ++v) {
    const VarDesc& old = desc->vars(static_cast<int>(v));
    if (!old_vars[v].vars.empty()) {
      AppendOldVar(old, old_vars[v], names, *origin, out);
    } else if (!origin->used_vars[block.index()][v]) {
      AppendField(3, old, out);
    }
  }
  for (const Named& named : new_vars) AppendNewVar(named, names, origin, out);
}

}  // namespace ampc::paddle
