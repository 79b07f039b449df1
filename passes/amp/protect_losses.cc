// Losses: what a training step follows and scales, and what people read as one number.
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {
namespace {

constexpr char kLossReason[] = "protect.loss: part of a loss or of a mean over everything, which is scaled, logged and compared";

bool IsNumber(const Var& var) { return var.type.has_rank && var.type.NumElements() == 1; }

}  // namespace

void Protector::FindNumbers() {
  std::vector<bool> spread(program_.num_var_ids(), false);  // something larger is made of it
  const auto& ops = program_.main().ops();
  numbers_.assign(program_.num_var_ids(), false);
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    bool ends = (*op)->SubBlocks().empty();
    for (const Var* var : (*op)->outputs()) {
      numbers_[var->id()] = IsNumber(*var) && !spread[var->id()];
      ends = ends && numbers_[var->id()];
    }
    if (ends) continue;
    for (const Var* var : (*op)->inputs()) spread[var->id()] = true;
  }
}

void Protector::FollowLosses(const Op& op) {
  if (op.outputs().empty() || op.inputs().empty()) return;
  if (Is(op, OpKind::kLoss)) {
    for (const char* slot : {"Loss", "Y", "output"}) {
      if (const Var* loss = op.output(slot)) flags_[loss->id()] |= kOfLoss;
    }
    return;
  }
  const bool reduces = Is(op, OpKind::kSum) && numbers_[op.outputs()[0]->id()] && !IsNumber(In(op, 0));
  if (!reduces && !(Reads(op, kOfLoss) && HandsOn(op))) return;
  Because(op, kLossReason);
  Set(op, kOfLoss);
}

}  // namespace ampc
