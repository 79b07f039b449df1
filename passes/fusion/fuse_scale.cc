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
    AffineChain chain = FindAffineChain(rewrite_, first.outputs()[0], -1, -1);
    if (chain.ops.empty()) return nullptr;
    all = Then(*all, chain.all);
    for (const Op* next : chain.ops) rewrite_.Drop(*next);
    std::unique_ptr<Op> op = Rewrite::NewOp(scale_, first);
    op->SetInputs(0, {&x, 1});
    op->SetOutputs(0, {&chain.result, 1});
    op->SetAttr("scale", all->factor[0]);
    op->SetAttr("bias", all->term[0]);
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
