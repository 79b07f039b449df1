#include "passes/amp/select/original_names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "passes/amp/decide/decision.h"

namespace ampc {
namespace {

// The fp32 param or const that `var` is the low copy of, or null.
const Var* CopiedFrom(const Var& var) {
  if (!IsStored(var) || !IsRetyped(var)) return nullptr;
  const size_t at = var.name().rfind(absl::StrCat(".", Name(var.type.dtype)));
  const Var* base = at == std::string::npos ? nullptr : var.block().FindVar(var.name().substr(0, at));
  return base != nullptr && base->kind == var.kind && base->type.dtype == var.was && !IsRetyped(*base) ? base : nullptr;
}

}  // namespace

OriginalNames::OriginalNames(const Program& program) : known_(program.num_var_ids(), nullptr) {
  ForEachVar(program, [this](const Var& var) {
    const Var* base = CopiedFrom(var);
    known_[var.id()] = base == nullptr ? &var : base;
  });
  ForEachOp(program, [this](const Op& op) {
    if (!IsInserted(op) || op.inputs().size() != 1 || op.outputs().size() != 1) return;
    const Var& from = *op.inputs()[0];
    const Var& to = *op.outputs()[0];
    if (to.kind != VarKind::kTemp || absl::StartsWith(from.name(), absl::StrCat(to.name(), "."))) {
      known_[from.id()] = &to;
    } else {
      known_[to.id()] = known_[from.id()];
    }
  });
}

}  // namespace ampc
