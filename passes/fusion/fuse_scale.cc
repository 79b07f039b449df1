#include "passes/fusion/fuse_scale.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/op_registry.h"
#include "passes/fusion/affine.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

Var* FloatOperand(const Op& op) {
  Var* found = nullptr;
  for (Var* var : op.inputs()) {
    if (var->literal != nullptr || var->kind == VarKind::kParam) continue;
    if (found != nullptr) return nullptr;
    found = var;
  }
  return found;
}

class ScaleFuser {
 public:
  explicit ScaleFuser(Program& program) : program_(program), uses_(program), scale_(Ops().Find("scale")) {}

  bool Run() {
    if (scale_ == nullptr) return false;
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      Block& block = program_.block(b);
      std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
      for (std::unique_ptr<Op>& op : ops) {
        if (gone_.contains(op.get())) continue;
        std::unique_ptr<Op> fused = Chain(*op);
        if (fused == nullptr) continue;
        // The op stands where the first step stood: its operand is there, and nobody reads the result before the last one.
        gone_.insert(op.get());
        graveyard_.push_back(std::exchange(op, std::move(fused)));
        changed = true;
      }
      for (std::unique_ptr<Op>& op : ops) {
        if (gone_.contains(op.get())) graveyard_.push_back(std::move(op));
      }
      std::erase(ops, nullptr);
      block.SetOps(std::move(ops));
    }
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // One op for `first` and the steps that follow it; null when there is only one.
  std::unique_ptr<Op> Chain(const Op& first) {
    if (first.type() != "elementwise_mul" && first.type() != "elementwise_add" && first.type() != "scale") return nullptr;
    Var* x = FloatOperand(first);
    if (x == nullptr || !IsFloat(x->type.dtype)) return nullptr;
    std::optional<Affine> all = ReadAffine(uses_, first, *x, -1, -1);
    if (!all.has_value()) return nullptr;
    Var* y = first.outputs()[0];
    std::vector<const Op*> steps;
    while (y->kind == VarKind::kTemp && uses_.single_use(*y)) {
      const Op* next = uses_.uses(*y)[0].op;
      if (&next->block() != &first.block() || gone_.contains(next)) break;
      const std::optional<Affine> step = ReadAffine(uses_, *next, *y, -1, -1);
      if (!step.has_value()) break;
      all = Then(*all, *step);
      steps.push_back(next);
      y = next->outputs()[0];
    }
    if (steps.empty() || y->kind != VarKind::kTemp) return nullptr;
    gone_.insert(steps.begin(), steps.end());
    std::unique_ptr<Op> op = first.block().NewOp(scale_);
    op->SetInputs(0, {&x, 1});
    op->SetOutputs(0, {&y, 1});
    op->SetAttr("scale", all->factor[0]);
    op->SetAttr("bias", all->term[0]);
    op->marks = first.marks;
    op->line = first.line;
    return op;
  }

  Program& program_;
  UseDef uses_;
  const OpDef* scale_;
  absl::flat_hash_set<const Op*> gone_;
  std::vector<std::unique_ptr<Op>> graveyard_;  // uses_ still points at them
};

}  // namespace

PassInfo FuseScalePass() {
  return SimplePass("fuse-scale", "turns a product and a sum with numbers into one scale",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ScaleFuser(program).Run(); });
}

}  // namespace ampc
