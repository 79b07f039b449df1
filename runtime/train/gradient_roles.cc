#include "runtime/train/gradient_roles.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/append_op.h"

namespace ampc::amp {
namespace {

void AddRoleVar(Op& op, const Var& param, const Var& gradient) {
  std::vector<std::string> names = {param.exported(), gradient.exported()};
  if (const AttrValue* had = op.explicit_attr("op_role_var")) {
    const auto& more = std::get<std::vector<std::string>>(*had);
    names.insert(names.end(), more.begin(), more.end());
  }
  op.SetAttr("op_role_var", std::move(names));
}

bool WidensGradient(const Op& op) {
  return op.type() == "cast" && op.outputs()[0]->type.dtype == DType::kF32 && op.inputs()[0]->type.IsFloat();
}

}  // namespace

absl::Status SetGradientRoles(Program& program, const std::vector<VarGradient>& gradients) {
  Block& block = program.main();
  std::vector<Op*> writer(program.num_var_ids(), nullptr);
  std::vector<const Op*> reader(program.num_var_ids(), nullptr);
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const Var* var : op->outputs()) writer[var->id()] = op.get();
    for (const Var* var : op->inputs()) reader[var->id()] = op.get();
  }
  std::vector<bool> moves(program.num_op_ids(), false);
  std::vector<int> order;
  for (const VarGradient& g : gradients) {
    if (g.gradient == nullptr || writer[g.gradient->id()] == nullptr) continue;
    Op* op = writer[g.gradient->id()];
    if (!WidensGradient(*op) || writer[op->inputs()[0]->id()] == nullptr) {
      AddRoleVar(*op, *g.var, *g.gradient);
      continue;
    }
    if (const Op* other = reader[g.gradient->id()]) {
      return UsageError(
          absl::StrCat(Describe(*other), " reads the gradient '", g.gradient->name(), "', which needs to be left to the optimizer"));
    }
    AddRoleVar(*writer[op->inputs()[0]->id()], *g.var, *op->inputs()[0]);
    op->SetAttr("op_role", int32_t{kRoleOptimize});
    moves[op->id()] = true;
    order.push_back(op->id());
  }
  if (order.empty()) return absl::OkStatus();
  std::vector<int> place(program.num_op_ids(), 0);
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
  const auto moved = std::stable_partition(ops.begin(), ops.end(), [&](const std::unique_ptr<Op>& op) { return !moves[op->id()]; });
  std::sort(moved, ops.end(), [&](const auto& a, const auto& b) { return place[a->id()] < place[b->id()]; });
  block.SetOps(std::move(ops));
  return absl::OkStatus();
}

void OptimizeLast(Program& program) {
  std::vector<std::unique_ptr<Op>> ops = program.main().TakeOps();
  std::stable_partition(ops.begin(), ops.end(), [](const std::unique_ptr<Op>& op) { return (RoleOf(*op) & kRoleOptimize) == 0; });
  program.main().SetOps(std::move(ops));
}

absl::Status AddMasterGradients(Program& program, std::vector<VarGradient>& gradients) {
  Block& block = program.main();
  for (VarGradient& g : gradients) {
    if (g.gradient == nullptr || !IsLowPrecision(g.gradient->type.dtype)) continue;
    Var* wide = NewTemp(block, absl::StrCat(g.gradient->name(), "_fp32_master_0"));
    AMPC_RETURN_IF_ERROR(AppendOp(block, "cast", {{"X", {g.gradient}}}, {{"Out", {wide}}},
                                  {{"in_dtype", g.gradient->type.dtype}, {"out_dtype", DType::kF32}}, kRoleOptimize)
                             .status());
    g.gradient = wide;
  }
  return absl::OkStatus();
}

}  // namespace ampc::amp
