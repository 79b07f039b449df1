#include "passes/amp/training/loss_scaling.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/append_op.h"

namespace ampc {
namespace {

absl::Status CheckOptions(const LossScalingOptions& o) {
  const auto error = [](absl::string_view name, auto found, absl::string_view needed) {
    return UsageError(absl::StrCat("loss scaling: ", name, " is ", found, ", needs ", needed));
  };
  if (!(o.init > 0) || !std::isfinite(o.init)) return error("init_loss_scaling", o.init, "a positive number");
  if (!o.dynamic) return absl::OkStatus();
  if (o.incr_every_n_steps < 1) return error("incr_every_n_steps", o.incr_every_n_steps, "at least 1");
  if (o.decr_every_n_nan_or_inf < 1) return error("decr_every_n_nan_or_inf", o.decr_every_n_nan_or_inf, "at least 1");
  if (!(o.incr_ratio > 1)) return error("incr_ratio", o.incr_ratio, "more than 1");
  if (!(o.decr_ratio > 0 && o.decr_ratio < 1)) return error("decr_ratio", o.decr_ratio, "a number between 0 and 1");
  if (!(o.floor > 0)) return error("the floor", o.floor, "a positive number");
  if (o.cap != 0 && !(o.cap >= o.floor)) return error("the cap", o.cap, absl::StrCat("0 for none, or at least the floor ", o.floor));
  return absl::OkStatus();
}

// The first number for which no scaler of the program stands.
int FreeNumber(const Program& program) {
  int k = 0;
  while (program.NameTaken(absl::StrCat("loss_scaling_", k))) ++k;
  return k;
}

std::vector<Attr> UpdateAttrs(const LossScalingOptions& o, bool stop) {
  std::vector<Attr> attrs = {{"incr_every_n_steps", int32_t{o.incr_every_n_steps}},
                             {"decr_every_n_nan_or_inf", int32_t{o.decr_every_n_nan_or_inf}},
                             {"incr_ratio", static_cast<float>(o.incr_ratio)},
                             {"decr_ratio", static_cast<float>(o.decr_ratio)},
                             {"stop_update", stop}};
  if (o.floor != 1) attrs.push_back({"min_loss_scaling", static_cast<float>(o.floor)});
  if (o.cap != 0) attrs.push_back({"max_loss_scaling", static_cast<float>(o.cap)});
  return attrs;
}

// The op that computes the loss carries its role.
void MarkLoss(Block& block, const Var& loss) {
  for (auto op = block.ops().rbegin(); op != block.ops().rend(); ++op) {
    for (const Var* var : (*op)->outputs()) {
      if (var == &loss) return (*op)->SetAttr("op_role", int32_t{kRoleForward | kRoleLoss});
    }
  }
}

// The gradients that one op takes, by position in the list of all.
using Group = std::vector<int>;

std::vector<Group> Groups(const UnscaleRules& rules, const std::vector<VarGradient>& gradients) {
  Group wide, low;
  for (int i = 0; i < static_cast<int>(gradients.size()); ++i) {
    if (gradients[i].gradient == nullptr) continue;
    (rules.by_type && IsLowPrecision(gradients[i].gradient->type.dtype) ? low : wide).push_back(i);
  }
  std::vector<Group> out;
  if (!wide.empty()) out.push_back(std::move(wide));
  if (!low.empty()) out.push_back(std::move(low));
  return out;
}

std::vector<Var*> Take(const Group& group, const std::vector<VarGradient>& gradients) {
  std::vector<Var*> out;
  for (int i : group) out.push_back(gradients[i].gradient);
  return out;
}

std::vector<std::string> Names(const std::vector<Var*>& vars) {
  std::vector<std::string> out;
  for (const Var* var : vars) out.push_back(var->exported());
  return out;
}

// Runs `append` on the group's gradients and on what they become; the entries then hold those.
template <typename F>
absl::Status Rewrite(Block& block, const Group& group, std::vector<VarGradient>& gradients, F append) {
  const std::vector<Var*> before = Take(group, gradients);
  std::vector<Var*> after;
  for (const Var* var : before) after.push_back(NextVersion(block, *var));
  AMPC_ASSIGN_OR_RETURN(Op * op, append(before, after));
  op->SetAttr("op_role_var", Names(before));
  for (size_t i = 0; i < group.size(); ++i) gradients[group[i]].gradient = after[i];
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Var*>> Check(Block& block, const LossScaler& scaler, const std::vector<Group>& groups,
                                        std::vector<VarGradient>& gradients) {
  std::vector<Var*> flags;
  for (const Group& group : groups) {
    Var* flag = NewTemp(block, "find_infinite_scale.tmp_0");
    flag->stop_gradient = true;
    AMPC_RETURN_IF_ERROR(Rewrite(block, group, gradients, [&](const std::vector<Var*>& x, const std::vector<Var*>& out) {
      return AppendOp(block, "check_finite_and_unscale", {{"X", x}, {"Scale", {scaler.scale}}}, {{"Out", out}, {"FoundInfinite", {flag}}},
                      {}, kRoleOptimize);
    }));
    flags.push_back(flag);
  }
  return flags;
}

absl::Status Update(Block& block, const LossScaler& scaler, Var* found, const std::vector<Group>& groups,
                    std::vector<VarGradient>& gradients) {
  bool stop = false;  // the state moves once
  for (const Group& group : groups) {
    AMPC_RETURN_IF_ERROR(Rewrite(block, group, gradients, [&](const std::vector<Var*>& x, const std::vector<Var*>& out) {
      return AppendOp(
          block, "update_loss_scaling",
          {{"X", x},
           {"FoundInfinite", {found}},
           {"PrevLossScaling", {scaler.scale}},
           {"InGoodSteps", {scaler.good_steps}},
           {"InBadSteps", {scaler.bad_steps}}},
          {{"Out", out}, {"LossScaling", {scaler.scale}}, {"OutGoodSteps", {scaler.good_steps}}, {"OutBadSteps", {scaler.bad_steps}}},
          UpdateAttrs(scaler.options, stop), kRoleOptimize);
    }));
    stop = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LossScaler> AddLossScaler(Program& program, Program& startup, const LossScalingOptions& options) {
  AMPC_RETURN_IF_ERROR(CheckOptions(options));
  LossScaler scaler;
  scaler.options = options;
  const int k = FreeNumber(program);
  AMPC_ASSIGN_OR_RETURN(scaler.scale,
                        AddState(program, startup, absl::StrCat("loss_scaling_", k), TensorType(DType::kF32, {1}), options.init));
  if (!options.dynamic) return scaler;
  AMPC_ASSIGN_OR_RETURN(scaler.good_steps, AddState(program, startup, absl::StrCat("num_good_steps_", k), TensorType(DType::kI32, {1}), 0));
  AMPC_ASSIGN_OR_RETURN(scaler.bad_steps, AddState(program, startup, absl::StrCat("num_bad_steps_", k), TensorType(DType::kI32, {1}), 0));
  return scaler;
}

absl::StatusOr<Var*> ScaleLoss(Program& program, Var& loss, const LossScaler& scaler) {
  if (!loss.type.IsFloat() || &loss.block() != &program.main()) {
    return UsageError(absl::StrCat("the loss '", loss.name(), "' is ", ToString(loss.type), ", needs a float value of the main block"));
  }
  Block& block = program.main();
  Var* wide = &loss;
  if (IsLowPrecision(loss.type.dtype)) {
    wide = NewTemp(block, absl::StrCat(loss.name(), ".f32"));
    AMPC_ASSIGN_OR_RETURN(Op * cast, AppendOp(block, "cast", {{"X", {&loss}}}, {{"Out", {wide}}},
                                              {{"in_dtype", loss.type.dtype}, {"out_dtype", DType::kF32}}, kRoleForward));
    cast->marks.amp = AmpMark::kInserted;
  }
  if (!scaler.active()) {
    MarkLoss(block, *wide);
    return wide;
  }
  Var* scaled = NewTemp(block, absl::StrCat(loss.name(), ".scaled"));
  AMPC_RETURN_IF_ERROR(AppendOp(block, "elementwise_mul", {{"X", {wide}}, {"Y", {scaler.scale}}}, {{"Out", {scaled}}},
                                {{"axis", int32_t{-1}}}, kRoleForward | kRoleLoss)
                           .status());
  return scaled;
}

absl::StatusOr<Var*> JoinFlags(Program& program, const std::vector<Var*>& flags) {
  Block& block = program.main();
  Var* joined = NewTemp(block, "found_inf.concat");
  AMPC_RETURN_IF_ERROR(AppendOp(block, "concat", {{"X", flags}}, {{"Out", {joined}}}, {{"axis", int32_t{0}}}, kRoleOptimize).status());
  Var* any = NewTemp(block, "found_inf");
  AMPC_RETURN_IF_ERROR(AppendOp(block, "reduce_any", {{"X", {joined}}}, {{"Out", {any}}},
                                {{"dim", std::vector<int32_t>{0}}, {"keep_dim", false}, {"reduce_all", true}}, kRoleOptimize)
                           .status());
  joined->stop_gradient = any->stop_gradient = true;
  return any;
}

absl::StatusOr<Var*> UnscaleGradients(Program& program, const LossScaler& scaler, const UnscaleRules& rules,
                                      std::vector<VarGradient>& gradients) {
  const std::vector<Group> groups = Groups(rules, gradients);
  if (!scaler.active() || groups.empty()) return nullptr;
  AMPC_ASSIGN_OR_RETURN(const std::vector<Var*> flags, Check(program.main(), scaler, groups, gradients));
  Var* found = flags[0];
  if (flags.size() > 1 || (rules.by_type && rules.join_always)) {
    AMPC_ASSIGN_OR_RETURN(found, JoinFlags(program, flags));
  }
  if (scaler.options.dynamic) AMPC_RETURN_IF_ERROR(Update(program.main(), scaler, found, groups, gradients));
  return found;
}

}  // namespace ampc
