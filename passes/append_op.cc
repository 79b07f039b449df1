#include "passes/append_op.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"

namespace ampc {

absl::StatusOr<Op*> AppendOp(Block& block, absl::string_view type, const SlotVars& operands, const SlotVars& results,
                             std::vector<Attr> attrs, int32_t role) {
  const OpDef* def = Ops().Find(type);
  if (def == nullptr) return InternalError(absl::StrCat("there is no record of '", type, "'"));
  std::unique_ptr<Op> op = block.NewOp(def);
  for (const auto& [slot, vars] : operands) {
    const int s = def->InputSlot(slot);
    if (s < 0) return InternalError(absl::StrCat("op '", type, "' has no operand slot ", slot));
    op->SetInputs(s, vars);
  }
  for (const auto& [slot, vars] : results) {
    const int s = def->OutputSlot(slot);
    if (s < 0) return InternalError(absl::StrCat("op '", type, "' has no result slot ", slot));
    op->SetOutputs(s, vars);
  }
  for (Attr& attr : attrs) op->SetAttr(attr.name, std::move(attr.value));
  op->SetAttr("op_role", role);
  AMPC_ASSIGN_OR_RETURN(std::vector<std::optional<TensorType>> types, InferOp(*op, TypeEnv()));
  for (size_t i = 0; i < types.size(); ++i) {
    Var* var = op->outputs()[i];
    if (var->kind == VarKind::kTemp && types[i].has_value()) var->type = *std::move(types[i]);
  }
  return block.Append(std::move(op));
}

Var* NewTemp(Block& block, absl::string_view base) { return block.AddVar(block.UniqueName(base), VarKind::kTemp, TensorType()); }

Var* NextVersion(Block& block, const Var& var) {
  Var* next = block.AddVar(block.UniqueName(var.name()), VarKind::kTemp, var.type);
  next->export_name = var.exported();
  return next;
}

absl::StatusOr<Var*> AddState(Program& main, Program& startup, absl::string_view name, TensorType type, double value) {
  Var* state = main.main().AddVar(main.main().UniqueName(name), VarKind::kState, type);
  Block& block = startup.main();
  if (block.FindVar(state->name()) != nullptr) {
    return UsageError(absl::StrCat("the startup program has a variable '", state->name(), "' that the main program does not have"));
  }
  Var* filled = block.AddVar(state->name(), VarKind::kState, std::move(type));
  state->stop_gradient = filled->stop_gradient = true;
  std::vector<int64_t> shape(filled->type.dims.begin(), filled->type.dims.end());
  AMPC_RETURN_IF_ERROR(AppendOp(block, "fill_constant", {}, {{"Out", {filled}}},
                                {{"shape", std::move(shape)}, {"value", static_cast<float>(value)}, {"dtype", filled->type.dtype}},
                                kRoleForward)
                           .status());
  return state;
}

int32_t RoleOf(const Op& op) { return static_cast<int32_t>(op.GetInt("op_role", kRoleForward)); }

}  // namespace ampc
