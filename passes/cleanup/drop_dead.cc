#include "passes/cleanup/drop_dead.h"

#include <utility>

#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

bool IsDead(const Op& op, const std::vector<int>& reads) {
  if (!op.def().pure || op.def().opaque || op.outputs().empty() || !op.SubBlocks().empty()) return false;
  for (const Var* var : op.outputs()) {
    if (var->kind != VarKind::kTemp || reads[var->id()] > 0) return false;
  }
  return true;
}

bool DropDead(Program& program) {
  std::vector<int> reads(program.num_var_ids(), 0);
  for (const Var* var : program.fetches) ++reads[var->id()];
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) ++reads[var->id()];
  });
  bool changed = false;
  for (int b = program.num_blocks() - 1; b >= 0; --b) {
    std::vector<std::unique_ptr<Op>> ops = program.block(b).TakeOps();
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      if (!IsDead(**it, reads)) continue;
      for (const Var* var : (*it)->inputs()) --reads[var->id()];
      it->reset();
      changed = true;
    }
    std::erase(ops, nullptr);
    program.block(b).SetOps(std::move(ops));
  }
  return RemoveUnusedVars(program) || changed;
}

}  // namespace

PassInfo DropDeadPass() {
  return SimplePass("drop-dead", "removes ops whose results nothing reads",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return DropDead(program); });
}

}  // namespace ampc
