#include "graph/formats/paddle/export_names.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/implicit_cast.h"

namespace ampc::paddle {

ExportNames::ExportNames(const Program& program)
    : renamed_(program.num_var_ids()), group_(program.num_var_ids(), -1), pinned_(program.num_var_ids(), false) {
  for (const Var* var : program.feeds) pinned_[var->id()] = true;
  for (const Var* var : program.fetches) pinned_[var->id()] = true;
  ForEachVar(program, [this](const Var& var) {
    taken_.insert(var.exported());
    taken_.insert(var.name());
  });
  FindImplicit(program);
  DodgeForeign(program);
  FindGroups(program);
  if (members_.empty()) return;
  SeparateTypes();
  SeparateStale(program);
}

void ExportNames::FindImplicit(const Program& program) {
  ForEachOp(program, [&](const Op& op) {
    if (!IsImplicitCast(op)) return;
    implicit_.resize(program.num_var_ids(), nullptr);
    implicit_[op.outputs()[0]->id()] = op.inputs()[0];
  });
}

// Names that the file has beside the program's: the holders of feed and fetch, variables that nothing uses.
void ExportNames::DodgeForeign(const Program& program) {
  absl::flat_hash_set<std::string> foreign = {"feed", "fetch"};
  if (const PaddleOrigin* origin = OriginOf(program)) {
    for (size_t b = 0; b < origin->used_vars.size(); ++b) {
      for (size_t v = 0; v < origin->used_vars[b].size(); ++v) {
        if (origin->used_vars[b][v]) continue;
        foreign.emplace(StringField(origin->VarBytes(static_cast<int>(b), static_cast<int>(v)), 1));
      }
    }
  }
  taken_.insert(foreign.begin(), foreign.end());
  ForEachVar(program, [this, &foreign](const Var& var) {
    if (var.origin < 0 && foreign.contains(var.exported())) Rename(var);
  });
}

void ExportNames::Rename(const Var& var) {
  std::string& name = renamed_[var.id()];
  if (!name.empty()) return;
  // A version's own name in the program is free unless another variable is exported under it.
  name = var.name();
  for (int suffix = 1; name == var.exported() || (name != var.name() && taken_.contains(name)); ++suffix) {
    name = absl::StrCat(var.name(), ".", suffix);
  }
  taken_.insert(name);
}

void ExportNames::FindGroups(const Program& program) {
  absl::flat_hash_map<std::pair<int, absl::string_view>, const Var*> first;
  const auto add = [this](int group, const Var& var) {
    group_[var.id()] = group;
    members_[group].push_back(&var);
  };
  ForEachVar(program, [&](const Var& var) {
    if (!renamed_[var.id()].empty() || var.exported() == kEmptyArgument) return;
    const auto [it, fresh] = first.try_emplace({var.block().index(), var.exported()}, &var);
    if (fresh) return;
    const Var& other = *it->second;
    if (group_[other.id()] < 0) {
      members_.emplace_back();
      add(static_cast<int>(members_.size()) - 1, other);
    }
    add(group_[other.id()], var);
  });
  current_.assign(members_.size(), nullptr);
}

void ExportNames::SeparateTypes() {
  for (const std::vector<const Var*>& group : members_) {
    const bool mixed = std::any_of(group.begin(), group.end(), [&group](const Var* v) { return v->type.dtype != group[0]->type.dtype; });
    if (!mixed) continue;
    for (const Var* var : group) {
      if (var->was != DType::kInvalid && !pinned_[var->id()]) Rename(*var);
    }
  }
}

// A read of a version whose name holds another one by now.
void ExportNames::Check(const Var& var) {
  const int group = group_[var.id()];
  if (group < 0 || current_[group] == &var || Renamed(var)) return;
  if (!pinned_[var.id()]) return Rename(var);
  for (const Var* other : members_[group]) {
    if (other != &var && !pinned_[other->id()]) Rename(*other);
  }
  current_[group] = &var;
}

void ExportNames::Walk(const Block& block) {
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const Var* var : op->inputs()) Check(*var);
    for (const int child : op->SubBlocks()) {
      if (child > block.index() && child < block.program().num_blocks()) Walk(block.program().block(child));
    }
    for (const Var* var : op->outputs()) {
      if (const int group = group_[var->id()]; group >= 0 && !Renamed(*var)) current_[group] = var;
    }
  }
}

void ExportNames::SeparateStale(const Program& program) {
  for (size_t g = 0; g < members_.size(); ++g) {
    for (const Var* var : members_[g]) {
      if (var->kind != VarKind::kTemp) current_[g] = var;
    }
  }
  Walk(program.main());
  for (const Var* var : program.fetches) Check(*var);
}

}  // namespace ampc::paddle
