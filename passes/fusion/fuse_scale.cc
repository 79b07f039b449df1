#include "passes/fusion/fuse_scale.h"

#include <utility>

#include "graph/op_registry.h"
#include "passes/fusion/affine.h"
#include "passes/fusion/constant_value.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class ScaleFuser {
 public:
  explicit ScaleFuser(Program& program) : program_(program), rewrite_(program), scale_(Ops().Find("scale")) {}

  bool Run() {
    if (scale_ == nullptr) return false;
    const bool changed = rewrite_.Run([this](const Op& op) {
      std::unique_ptr<Op> fused = Chain(op);
      if (fused == nullptr) return false;
      // It stands where the first step stood: its operand is there, and nobody reads the result before the last one.
      rewrite_.Replace(op, std::move(fused));
      return true;
    });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // One op for `first` and the steps that follow it; null when there is only one.
  std::unique_ptr<Op> Chain(const Op& first) {
    if (first.type() != "elementwise_mul" && first.type() != "elementwise_add" && first.type() != "scale") return nullptr;
    Var* x = VariableOperand(first);
    if (x == nullptr) return nullptr;
    std::optional<Affine> all = ReadAffine(uses_, first, *x, -1, -1);
    if (!all.has_value()) return nullptr;
    Var* y = first.outputs()[0];
    std::vector<const Op*> steps;
    while (const Op* next = rewrite_.OnlyReader(*y)) {
      const std::optional<Affine> step = ReadAffine(uses_, *next, *y, -1, -1);
      if (!step.has_value()) break;
      all = Then(*all, *step);
      steps.push_back(next);
      y = next->outputs()[0];
    }
    if (steps.empty() || y->kind != VarKind::kTemp) return nullptr;
    for (const Op* step : steps) rewrite_.Drop(*step);
    std::unique_ptr<Op> op = first.block().NewOp(scale_);
    op->SetInputs(0, {&x, 1});
    op->SetOutputs(0, {&y, 1});
    op->SetAttr("scale", all->factor[0]);
    op->SetAttr("bias", all->term[0]);
    op->marks = first.marks;
    op->line = first.line;
    op->lowered_from = first.lowered_from;
    return op;
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  const OpDef* scale_;
};

}  // namespace

PassInfo FuseScalePass() {
  return SimplePass("fuse-scale", "turns a product and a sum with numbers into one scale",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ScaleFuser(program).Run(); });
}

}  // namespace ampc
