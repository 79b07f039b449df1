#include "runtime/plan/liveness.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"

namespace ampc {
namespace {

constexpr int kAlways = std::numeric_limits<int>::max();

}  // namespace

Liveness::Liveness(const Program& program, const StateTable* states)
    : program_(program),
      has_value_(program.num_var_ids(), false),
      written_(program.num_var_ids(), false),
      last_read_(program.num_var_ids(), -1),
      position_(program.num_blocks(), 0),
      dying_(program.num_blocks()) {
  ForEachVar(program, [this](const Var& var) { has_value_[var.id()] = var.literal != nullptr || var.weight != nullptr; });
  for (int b = 0; b < program.num_blocks(); ++b) dying_[b].resize(program.block(b).ops().size());
  Visit(program.main());
  for (const Var* var : program.fetches) last_read_[var->id()] = kAlways;
  ForEachVar(program, [this, states](const Var& var) {
    if (states == nullptr || states->Find(var) == nullptr) return;
    has_value_[var.id()] = false;
    last_read_[var.id()] = kAlways;
  });
  ForEachVar(program, [this](const Var& var) {
    const int last = last_read_[var.id()];
    if (var.kind == VarKind::kTemp && last >= 0 && last != kAlways) dying_[var.block().index()][last].push_back(&var);
  });
}

// Blocks are entered from their ops, so `position_` says for every enclosing block which op is under way.
void Liveness::Visit(const Block& block) {
  int& position = position_[block.index()];
  for (position = 0; position < static_cast<int>(block.ops().size()); ++position) {
    const Op& op = *block.ops()[position];
    for (const Var* var : op.inputs()) {
      int& last = last_read_[var->id()];
      last = var->kind == VarKind::kTemp ? std::max(last, position_[var->block().index()]) : kAlways;
    }
    for (const Var* var : op.outputs()) written_[var->id()] = true;
    for (int index : op.SubBlocks()) Visit(program_.block(index));
  }
}

std::vector<const Var*> Liveness::Reads(const Block& block, int begin, int end) const {
  std::vector<const Var*> out;
  absl::flat_hash_set<const Var*> known;
  for (int i = begin; i < end; ++i) {
    const Op& op = *block.ops()[i];
    for (const Var* var : op.inputs()) {
      if (!IsConstant(*var) && known.insert(var).second) out.push_back(var);
    }
    known.insert(op.outputs().begin(), op.outputs().end());
  }
  return out;
}

std::vector<const Var*> Liveness::Writes(const Block& block, int begin, int end) const {
  std::vector<const Var*> out;
  absl::flat_hash_set<const Var*> seen;
  for (int i = begin; i < end; ++i) {
    for (const Var* var : block.ops()[i]->outputs()) {
      if (last_read_[var->id()] >= end && seen.insert(var).second) out.push_back(var);
    }
  }
  return out;
}

}  // namespace ampc
