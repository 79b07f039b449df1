#include "graph/ops/control_flow_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferConditionalBlock(InferContext& ctx) {
  if (!ctx.op().GetBool("is_scalar_condition")) return absl::OkStatus();
  if (ctx.Count("Cond") != 1) return Fail(ctx, 2, "Cond has ", ctx.Count("Cond"), " operands, needs 1");
  return NeedCondition(ctx, "Cond", 1);
}

}  // namespace

OpDef ConditionalBlockDef() {
  OpDef def("conditional_block");
  def.Doc(
         "Runs sub_block once where Cond is true (is_scalar_condition) or has elements. Out lists the carries that the block writes, Input "
         "the outer values that it reads. Two of them, the second on the negated condition, are an if with an else.")
      .VarIn("Cond", kAsIs)
      .OptVarIn("Input", kAsIs)
      .VarOut("Out", kAsIs)
      .OptOut("Scope", kAsIs)
      .A("is_scalar_condition", false)
      .Infer(InferConditionalBlock);
  def.outputs[0].optional = true;
  def.Extra("skip_eager_deletion_vars", Strings());
  return WithBlock(def);
}

}  // namespace ampc::ops
