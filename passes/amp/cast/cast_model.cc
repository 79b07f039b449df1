#include "passes/amp/cast/cast_model.h"

#include <algorithm>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/implicit_cast.h"
#include "graph/op_registry.h"
#include "passes/amp/cast/materializer.h"
#include "passes/make_pass.h"

namespace ampc {

Materializer::Materializer(const AmpDecision& decision, Program& program)
    : decision_(decision), program_(program), cast_def_(Ops().Find("cast")), versions_(program), fetched_(program.num_var_ids(), false) {
  for (const Var* var : program.fetches) fetched_[var->id()] = true;
}

absl::StatusOr<bool> Materializer::Run() {
  if (cast_def_ == nullptr) return InternalError("there is no record of 'cast'");
  ForEachVar(program_, [this](const Var& var) {
    if (AmpDecision::Has(decision_.low_var, var.id()) && var.type.dtype == DType::kF32 && var.kind != VarKind::kTemp)
      Retype(const_cast<Var&>(var), decision_.low);
  });
  if (program_.num_blocks() > 1) FindCaptureCasts();
  for (int b = 0; b < program_.num_blocks(); ++b) AMPC_RETURN_IF_ERROR(RewriteBlock(program_.block(b)));
  for (const auto& [var, type] : retyped_) changed_ = changed_ || var->type.dtype != type;
  DropUnreadCasts();
  return changed_;
}

absl::Status Materializer::RewriteBlock(Block& block) {
  block_ = &block;
  copies_.clear();
  sources_.clear();
  earlier_.clear();
  std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
  FindOutdatedFetches(ops);
  out_.clear();
  out_.reserve(ops.size() + ops.size() / 4);
  absl::Status status;
  for (std::unique_ptr<Op>& op : ops) {
    if (status.ok()) {
      status = RewriteOp(std::move(op));
    } else {
      out_.push_back(std::move(op));
    }
  }
  block.SetOps(std::move(out_));
  out_.clear();
  DropReturned();
  return status;
}

absl::Status Materializer::RewriteOp(std::unique_ptr<Op> owned) {
  Op& op = *owned;
  trailing_.clear();
  if (TakesBack(op) || DefinesFetchAgain(op)) return absl::OkStatus();
  given_.assign(op.inputs().begin(), op.inputs().end());
  ReadCapturesThemselves(op);
  const bool converted = ReadEarlierCasts(op);
  if (Repeats(op)) return absl::OkStatus();
  const OpDecision& d = decision_.For(op);
  absl::Status status;
  if (IsInserted(op) || (IsCast(op) && d.untouched)) {
    if (IsCast(op)) FixInDType(op);
  } else {
    if (!d.untouched) ConvertOperands(op, d.low);
    const bool control = !op.SubBlocks().empty();  // its results are what its bodies write
    if (d.low) {
      RetargetAttrs(op);
      if (!control) RetypeResults(op);
    } else {
      if (!d.untouched) RestoreAttrs(op);
      if (!d.untouched && !control) WidenResults(op);
      if (d.converts || converted) LeaveToRuntime(op);
      if (ListsCasts(decision_, op)) ListCasts(op);
      status = PropagateTypes(op);
    }
    if (IsCast(op)) FixInDType(op);
    RetypeFetches(op);
  }
  versions_.After(op);
  if (IsInserted(op) && IsCast(op)) Remember(op.inputs()[0], op.outputs()[0]);
  changed_ = changed_ || !std::equal(op.inputs().begin(), op.inputs().end(), given_.begin(), given_.end());
  out_.push_back(std::move(owned));
  for (const auto& [from, to] : trailing_) {
    AppendCast(from, to);
    versions_.Wrote(*to);
    Remember(from, to);
  }
  return status;
}

void Materializer::DropUnreadCasts() {
  std::vector<int> reads(program_.num_var_ids(), 0);
  for (const Var* var : program_.fetches) ++reads[var->id()];
  ForEachOp(program_, [&](const Op& op) {
    for (const Var* var : op.inputs()) ++reads[var->id()];
  });
  std::vector<bool> dead(program_.num_var_ids(), false);
  for (int id : gone_) dead[id] = true;
  bool any = !gone_.empty();
  for (int b = 0; b < program_.num_blocks(); ++b) {
    std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
    std::erase_if(ops, [&](const std::unique_ptr<Op>& op) {
      if (!IsInserted(*op) || IsListedCast(*op) || op->outputs()[0]->kind != VarKind::kTemp || reads[op->outputs()[0]->id()] > 0)
        return false;
      dead[op->outputs()[0]->id()] = any = true;
      return true;
    });
    program_.block(b).SetOps(std::move(ops));
  }
  for (int b = 0; any && b < program_.num_blocks(); ++b) program_.block(b).RemoveVars(dead);
  changed_ = changed_ || any;
}

PassInfo CastModelPass() {
  return SimplePass("cast-model-to-fp16", "inserts the casts and changes the types that the decision asks for",
                    [](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
                      const AmpDecision* decision = ctx.Find<AmpDecision>();
                      if (decision == nullptr) return UsageError("there is no decision to obey: run amp-decide before");
                      return Materializer(*decision, program).Run();
                    });
}

}  // namespace ampc
