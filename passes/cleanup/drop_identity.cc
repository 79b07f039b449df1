#include "passes/cleanup/drop_identity.h"

#include <utility>

#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// The literal is one number, and it is `value`.
bool IsNumber(const Var& var, float value) {
  return var.literal != nullptr && var.literal->dtype() == DType::kF32 && var.literal->num_elements() == 1 &&
         var.literal->values<float>()[0] == value;
}

// The operand that the op's first result equals; null when it computes something. Adding +0 turns -0 into +0, which is kept apart
// by nothing that a model does with it.
Var* Same(const Op& op) {
  const std::string& t = op.type();
  if (t == "dropout") {
    const bool off = op.GetBool("is_test") && op.GetString("dropout_implementation") == "upscale_in_train";
    return off || (op.GetBool("is_test") && op.GetFloat("dropout_prob", 0.5) == 0) ? op.input("X") : nullptr;
  }
  if (t == "assign") return op.input("X");
  if (t == "scale") return op.inputs().size() == 1 && op.GetFloat("scale", 1) == 1 && op.GetFloat("bias", 0) == 0 ? op.input("X") : nullptr;
  if (op.inputs().size() != 2) return nullptr;
  Var* x = op.inputs()[0];
  Var* y = op.inputs()[1];
  if ((t == "elementwise_mul" || t == "elementwise_div") && IsNumber(*y, 1)) return x;
  if ((t == "elementwise_add" || t == "elementwise_sub") && IsNumber(*y, 0)) return x;
  return nullptr;
}

bool DropIdentity(Program& program) {
  const UseDef uses(program);
  std::vector<Var*> target(program.num_var_ids(), nullptr);
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) {
    std::vector<std::unique_ptr<Op>> ops = program.block(b).TakeOps();
    for (std::unique_ptr<Op>& op : ops) {
      for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) {
        if (Var* other = target[op->inputs()[i]->id()]) op->ReplaceInput(i, other);
      }
      Var* x = op->outputs().empty() ? nullptr : Same(*op);
      if (x == nullptr || (x->kind != VarKind::kTemp && uses.num_writers(*x) > 0) || &x->block() != &op->block()) continue;
      Var* y = op->outputs()[0];
      bool free = y->kind == VarKind::kTemp && !uses.fetched(*y) && y->type.dtype == x->type.dtype && y->type.rank() == x->type.rank();
      for (const Var* other : op->outputs().subspan(1)) free = free && uses.uses(*other).empty() && !uses.fetched(*other);
      if (!free) continue;
      target[y->id()] = x;
      op.reset();
      changed = true;
    }
    std::erase(ops, nullptr);
    program.block(b).SetOps(std::move(ops));
  }
  if (changed) RemoveUnusedVars(program);
  return changed;
}

}  // namespace

PassInfo DropIdentityPass() {
  return SimplePass("drop-identity", "removes ops that give back what they got",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return DropIdentity(program); });
}

}  // namespace ampc
