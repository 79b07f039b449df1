#include "passes/amp/cast/amp_verify.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/implicit_cast.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/per_record.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

absl::Status CheckFetches(const AmpDecision& decision, const Program& program) {
  for (const Var* fetch : program.fetches) {
    if (IsRetyped(*fetch) && AmpDecision::Has(decision.keep_var, fetch->id())) {
      return InternalError(
          absl::StrCat("fetch '", fetch->name(), "' became ", Name(fetch->type.dtype), ", needs to stay ", Name(fetch->was)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOp(const AmpDecision& decision, const PrecisionSupport& support, PerRecord<bool>* supported, const Op& op) {
  const OpDecision& d = decision.For(op);
  const auto supports = [&](const OpDef& def) { return support.Supports(def.name, decision.low); };
  // Casts are from and to every type.
  if (d.low && decision.own_slots && !IsCast(op) && !supported->Of(op.def(), supports)) {
    return InternalError(
        absl::StrCat(Describe(op), " is low, but target '", support.target(), "' has no ", Name(decision.low), " kernel for it"));
  }
  if (d.low || d.untouched) return absl::OkStatus();
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& var = *op.inputs()[i];
    if (!IsRetyped(var) || !IsLowPrecision(var.type.dtype)) continue;
    if (InputPrecision(decision, op, op.InputSlotOf(i)) == SlotPrecision::kAsIs) continue;
    return InternalError(
        absl::StrCat(Describe(op), " stays fp32 (", d.rule, "), but reads '", var.name(), "', which is ", Name(var.type.dtype)));
  }
  return absl::OkStatus();
}

// Reading a cast of a value that was overwritten since is another value, so a cast may come again after a write.
absl::Status CheckCasts(const Program& program) {
  std::vector<bool> read(program.num_var_ids(), false);
  for (const Var* fetch : program.fetches) read[fetch->id()] = true;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) read[var->id()] = true;
  });
  for (int b = 0; b < program.num_blocks(); ++b) {
    absl::flat_hash_map<std::pair<int, DType>, const Op*> casts;
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      if (!IsInserted(*op) || IsImplicitCast(*op) || IsListedCast(*op) || op->outputs()[0]->IsWritable()) continue;
      if (!read[op->outputs()[0]->id()]) return InternalError(absl::StrCat(Describe(*op), " was inserted, but nothing reads it"));
      if (op->inputs()[0]->IsWritable() && op->inputs()[0]->kind != VarKind::kParam) continue;
      const auto [it, added] = casts.try_emplace({op->inputs()[0]->id(), op->outputs()[0]->type.dtype}, op.get());
      if (!added && op->inputs()[0]->kind != VarKind::kParam) {
        return InternalError(absl::StrCat(Describe(*op), " repeats ", Describe(*it->second)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

PassInfo AmpVerifyPass() {
  return SimplePass("amp-verify", "checks fetch types, kernels, denied ops and casts of a converted program",
                    [](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
                      const AmpDecision* decision = ctx.Find<AmpDecision>();
                      if (decision == nullptr) return UsageError("there is no decision to check: run amp-decide before");
                      AMPC_RETURN_IF_ERROR(CheckFetches(*decision, program));
                      PerRecord<bool> supported;
                      absl::Status status;
                      ForEachOp(program, [&](const Op& op) {
                        if (status.ok() && !IsInserted(op)) status = CheckOp(*decision, *ctx.support, &supported, op);
                      });
                      AMPC_RETURN_IF_ERROR(status);
                      AMPC_RETURN_IF_ERROR(CheckCasts(program));
                      return false;
                    });
}

}  // namespace ampc
