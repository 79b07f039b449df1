#include "graph/base/error.h"
#include "graph/ops/control_flow_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferWhile(InferContext& ctx) { return NeedCondition(ctx, "Condition", 1); }

// The condition changes only where the block writes it.
absl::Status VerifyWhile(const Op& op) {
  const Var* condition = op.input("Condition");
  if (condition->kind == VarKind::kCarry) return absl::OkStatus();
  return BadInputError(
      absl::StrCat(Describe(op), ": Condition '", condition->name(), "' is a ", Name(condition->kind), ", needs a carry (while.c2)"));
}

}  // namespace

OpDef WhileDef() {
  OpDef def("while");
  def.Doc(
         "Runs sub_block as long as Condition, a carry that the block writes, is true. Out lists the carries that the block writes, X the "
         "outer values that it reads.")
      .OptVarIn("X", kAsIs)
      .In("Condition", kAsIs)
      .VarOut("Out", kAsIs)
      .OptOut("StepScopes", kAsIs)
      .A("is_test", false)
      .Infer(InferWhile)
      .Verify(VerifyWhile);
  def.Extra("skip_eager_deletion_vars", Strings());
  return WithBlock(def);
}

}  // namespace ampc::ops
