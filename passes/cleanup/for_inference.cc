#include "passes/cleanup/for_inference.h"

#include <string>
#include <utility>
#include <vector>

#include "passes/analysis/use_def.h"
#include "passes/append_op.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr const char* kTrainingOperands[] = {"Seed", "MomentumTensor"};

bool DropTrainingOps(Block& block) {
  std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
  const size_t all = ops.size();
  std::erase_if(ops,
                [](const std::unique_ptr<Op>& op) { return (RoleOf(*op) & (kRoleBackward | kRoleOptimize | kRoleLearningRate)) != 0; });
  const bool changed = ops.size() != all;
  block.SetOps(std::move(ops));
  return changed;
}

bool RunAsInTest(Op& op, std::vector<int>& reads) {
  if (op.def().opaque || op.def().FindAttr("is_test") == nullptr) return false;
  bool changed = !op.GetBool("is_test");
  if (changed) op.SetAttr("is_test", true);
  if (!op.SubBlocks().empty()) return changed;
  for (const char* name : kTrainingOperands) {
    const int slot = op.def().InputSlot(name);
    if (slot < 0 || op.inputs(slot).empty()) continue;
    for (const Var* var : op.inputs(slot)) --reads[var->id()];
    op.SetInputs(slot, {});
    changed = true;
  }
  for (int s = 0; s < static_cast<int>(op.def().outputs.size()); ++s) {
    const Var* var = op.output(s);
    if (var == nullptr || !op.def().outputs[s].optional || (var->kind == VarKind::kTemp && reads[var->id()] > 0)) continue;
    op.SetOutputs(s, {});
    changed = true;
  }
  return changed;
}

bool ClearRole(Op& op) {
  bool changed = false;
  for (const char* name : {"op_role", "op_role_var"}) {
    if (op.explicit_attr(name) == nullptr) continue;
    op.RemoveAttr(name);
    changed = true;
  }
  return changed;
}

}  // namespace

bool MakeForInference(Program& program) {
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) changed = DropTrainingOps(program.block(b)) || changed;
  std::vector<int> reads(program.num_var_ids(), 0);
  for (const Var* var : program.fetches) ++reads[var->id()];
  ForEachOp(program, [&reads](const Op& op) {
    for (const Var* var : op.inputs()) ++reads[var->id()];
  });
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      changed = RunAsInTest(*op, reads) || changed;
      changed = ClearRole(*op) || changed;
    }
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      changed = changed || var->trainable;
      var->trainable = false;
    }
  }
  return RemoveUnusedVars(program) || changed;
}

PassInfo ForInferencePass() {
  return SimplePass("for-inference", "takes gradients and optimizers out, the rest runs as in a test",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return MakeForInference(program); });
}

}  // namespace ampc
