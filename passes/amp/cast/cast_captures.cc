#include "passes/amp/cast/materializer.h"

namespace ampc {

void Materializer::FindCaptureCasts() {
  overwritten_.assign(program_.num_var_ids(), false);
  absl::flat_hash_map<int, const Op*> casts;  // by result
  ForEachOp(program_, [&](const Op& op) {
    for (const Var* var : op.outputs()) overwritten_[var->id()] = var->IsWritable();
    if (IsInserted(op) && IsCast(op) && op.outputs()[0]->kind == VarKind::kTemp) casts[op.outputs()[0]->id()] = &op;
  });
  ForEachOp(program_, [&](const Op& op) {
    for (const Var* var : op.inputs()) {
      const auto cast = casts.find(var->id());
      if (cast == casts.end() || overwritten_[cast->second->inputs()[0]->id()]) continue;
      if (!op.SubBlocks().empty() || &op.block() != &cast->second->block()) capture_casts_[var->id()] = cast->second->inputs()[0];
    }
  });
}

void Materializer::ReadCapturesThemselves(Op& op) {
  for (int i = 0; !capture_casts_.empty() && i < static_cast<int>(op.inputs().size()); ++i) {
    const auto it = capture_casts_.find(op.inputs()[i]->id());
    if (it != capture_casts_.end() && (!op.SubBlocks().empty() || &op.block() != &op.inputs()[i]->block())) op.ReplaceInput(i, it->second);
  }
}

bool Materializer::BodiesRead(const Op& op, const Var& operand, bool low) const {
  for (const int b : op.SubBlocks()) {
    for (const std::unique_ptr<Op>& inner : program_.block(b).ops()) {
      if (IsInserted(*inner)) continue;
      const OpDecision& d = decision_.For(*inner);
      for (int i = 0; i < static_cast<int>(inner->inputs().size()); ++i) {
        const auto cast = capture_casts_.find(inner->inputs()[i]->id());
        if (inner->inputs()[i] != &operand && (cast == capture_casts_.end() || cast->second != &operand)) continue;
        const SlotPrecision precision =
            inner->SubBlocks().empty() ? InputPrecision(decision_, *inner, inner->InputSlotOf(i)) : SlotPrecision::kFollow;
        const bool reads_low = d.low && precision == SlotPrecision::kFollow;
        if (d.untouched || precision == SlotPrecision::kAsIs || reads_low != low) return false;
      }
      if (!BodiesRead(*inner, operand, low)) return false;
    }
  }
  return true;
}

void Materializer::CastCaptures(Op& op, bool low) {
  const DType to = low ? decision_.low : DType::kF32;
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    Var* var = op.inputs()[i];
    if (!var->type.IsFloat() || var->type.dtype == to || (low ? var->type.dtype != DType::kF32 : !WasWider(*var))) continue;
    // A weight is there for those who read it although no op around them lists it.
    if (AmpDecision::Has(overwritten_, var->id()) || (var->kind != VarKind::kParam && !BodiesRead(op, *var, low))) continue;
    Var* cast = As(var, to);
    op.ReplaceInput(i, cast);
    for (const int b : op.SubBlocks()) around_[{b, Key(var->id(), to)}] = cast;
  }
}

Var* Materializer::CastAround(const Var& var, DType to) const {
  for (int b = block_->index(); !around_.empty() && b >= 0; b = program_.block(b).parent()) {
    const auto it = around_.find({b, Key(var.id(), to)});
    if (it != around_.end()) return it->second;
  }
  return nullptr;
}

}  // namespace ampc
