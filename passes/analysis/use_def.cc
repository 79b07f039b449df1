#include "passes/analysis/use_def.h"

namespace ampc {

UseDef::UseDef(const Program& program) {
  const int n = program.num_var_ids();
  producer_.assign(n, nullptr);
  writers_.assign(n, 0);
  begin_.assign(n + 1, 0);
  fetched_.assign(n, false);
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) ++begin_[var->id() + 1];
    for (const Var* var : op.outputs()) {
      producer_[var->id()] = const_cast<Op*>(&op);
      ++writers_[var->id()];
    }
  });
  for (int i = 0; i < n; ++i) begin_[i + 1] += begin_[i];
  uses_.resize(begin_[n]);
  std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
  ForEachOp(program, [&](const Op& op) {
    int flat = 0;
    for (const Var* var : op.inputs()) uses_[next[var->id()]++] = {const_cast<Op*>(&op), flat++};
  });
  for (const Var* var : program.fetches) fetched_[var->id()] = true;
}

bool RemoveUnusedVars(Program& program) {
  std::vector<bool> dead(program.num_var_ids(), false);
  ForEachVar(program, [&](const Var& var) { dead[var.id()] = var.kind == VarKind::kTemp || var.kind == VarKind::kConst; });
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) dead[var->id()] = false;
    for (const Var* var : op.outputs()) dead[var->id()] = false;
  });
  for (const Var* var : program.fetches) dead[var->id()] = false;
  bool any = false;
  ForEachVar(program, [&](const Var& var) { any = any || dead[var.id()]; });
  for (int b = 0; any && b < program.num_blocks(); ++b) program.block(b).RemoveVars(dead);
  return any;
}

}  // namespace ampc
