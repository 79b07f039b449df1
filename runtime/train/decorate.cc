#include "runtime/train/decorate.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/training/verify_training.h"
#include "passes/append_op.h"
#include "runtime/train/gradient_roles.h"

namespace ampc::amp {
namespace {

// Gradients are there already: the forward part was rewritten when they were made.
bool HasGradients(const Program& program) {
  const auto& ops = program.main().ops();
  return std::any_of(ops.begin(), ops.end(),
                     [](const std::unique_ptr<Op>& op) { return (RoleOf(*op) & (kRoleBackward | kRoleOptimize)) != 0; });
}

OptimizerStyle StyleOf(absl::string_view compat) {
  if (compat == "paddle-2.0") return OptimizerStyle::kPaddle20;
  if (compat == "paddle-2.4") return OptimizerStyle::kPaddle24;
  if (compat == "paddle-2.6") return OptimizerStyle::kPaddle26;
  return OptimizerStyle::kOwn;
}

// Up to 2.4 a gradient of batch_norm by its own batch does not read the running statistics.
void DropRunningStatistics(Program& program) {
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    if (op->type() != "batch_norm_grad" || op->GetBool("use_global_stats") || op->GetBool("is_test")) continue;
    for (const char* slot : {"MeanOut", "VarianceOut"}) op->SetInputs(op->def().InputSlot(slot), {});
  }
}

// An update in place of another one's: the second would read gradients by what the first has changed, and could not skip it.
absl::Status CheckNotUpdated(const Program& program, const std::vector<VarGradient>& gradients) {
  std::vector<const Op*> update(program.num_var_ids(), nullptr);
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    if (const Var* param = op->input("Grad") == nullptr ? nullptr : op->output("ParamOut")) update[param->id()] = op.get();
  }
  for (const VarGradient& g : gradients) {
    if (const Op* op = update[g.var->id()]) {
      return UsageError(
          absl::StrCat(Describe(*op), " updates the parameter '", g.var->name(),
                       "' already; losses that share parameters need one optimizer: Backward for each, then ApplyGradients once"));
    }
  }
  return absl::OkStatus();
}

// The parameters with the flags of the same losses are updated together.
struct Fate {
  std::vector<Var*> flags;
  std::vector<VarGradient> gradients;
};

// Adds up what several losses give one parameter.
absl::StatusOr<std::vector<Fate>> JoinLosses(Program& program, const std::vector<std::vector<VarGradient>>& by_loss,
                                             const std::vector<Var*>& flags) {
  struct Parts {
    std::vector<Var*> gradients, flags;
  };
  std::vector<Var*> params;
  absl::flat_hash_map<Var*, Parts> parts;
  for (size_t i = 0; i < by_loss.size(); ++i) {
    for (const VarGradient& g : by_loss[i]) {
      if (g.gradient == nullptr) continue;
      auto [it, fresh] = parts.try_emplace(g.var);
      if (fresh) params.push_back(g.var);
      it->second.gradients.push_back(g.gradient);
      if (flags[i] != nullptr) it->second.flags.push_back(flags[i]);
    }
  }
  std::vector<Fate> fates;
  for (Var* param : params) {
    Parts& p = parts[param];
    Var* gradient = p.gradients[0];
    if (p.gradients.size() > 1) {
      gradient = NewTemp(program.main(), absl::StrCat(param->name(), "@GRAD@LOSSES"));
      AMPC_RETURN_IF_ERROR(AppendOp(program.main(), "sum", {{"X", p.gradients}}, {{"Out", {gradient}}}, {}, kRoleOptimize).status());
    }
    auto fate = std::find_if(fates.begin(), fates.end(), [&](const Fate& f) { return f.flags == p.flags; });
    if (fate == fates.end()) fate = fates.insert(fates.end(), Fate{p.flags, {}});
    fate->gradients.push_back({param, gradient});
  }
  return fates;
}

}  // namespace

OptimizerWithMixedPrecision::OptimizerWithMixedPrecision(Optimizer optimizer, DecorateOptions options)
    : optimizer_(std::move(optimizer)), options_(std::move(options)) {
  absl::StatusOr<AmpSettings> settings = Resolve(options_);
  status_ = settings.status();
  if (settings.ok()) settings_ = *std::move(settings);
  if (settings_.force_multi_precision && status_.ok()) optimizer_.set_multi_precision(true);
}

UnscaleRules OptimizerWithMixedPrecision::Rules() const {
  UnscaleRules rules;
  rules.by_type = options_.compat != "own" && settings_.level == "O2";
  rules.join_always = options_.compat != "paddle-2.0" || settings_.scaling.dynamic;
  return rules;
}

absl::StatusOr<std::vector<VarGradient>> OptimizerWithMixedPrecision::TryBackward(Program& main, Program& startup, Var& loss,
                                                                                  const BackwardOptions& wanted) {
  if (!HasGradients(main)) {
    AMPC_ASSIGN_OR_RETURN(rewrite_, RewriteForTraining(main, options_, settings_));
    rewrite_.notes.insert(rewrite_.notes.begin(), settings_.notes.begin(), settings_.notes.end());
  } else {
    for (const std::unique_ptr<Var>& var : main.main().vars()) {
      if (var->kind == VarKind::kParam && IsRetyped(*var)) rewrite_.low_params.push_back(var->name());
    }
  }
  Loss entry;
  AMPC_ASSIGN_OR_RETURN(entry.scaler, AddLossScaler(main, startup, settings_.scaling));
  AMPC_ASSIGN_OR_RETURN(Var * scaled, ScaleLoss(main, loss, entry.scaler));
  entry.scaled = scaled->name();
  AMPC_ASSIGN_OR_RETURN(std::vector<VarGradient> gradients, AppendBackward(main, *scaled, wanted));
  std::erase_if(gradients, [](const VarGradient& g) { return g.gradient == nullptr; });
  if (options_.compat == "paddle-2.0" || options_.compat == "paddle-2.4") DropRunningStatistics(main);
  OptimizeLast(main);
  for (const VarGradient& g : gradients) entry.gradients.push_back(g.gradient->id());
  losses_.push_back(std::move(entry));
  return gradients;
}

absl::StatusOr<std::vector<ParamUpdate>> OptimizerWithMixedPrecision::TryApply(Program& main, Program& startup,
                                                                               std::vector<VarGradient> gradients) {
  AMPC_RETURN_IF_ERROR(CheckNotUpdated(main, gradients));
  AMPC_RETURN_IF_ERROR(SetGradientRoles(main, gradients));
  absl::flat_hash_map<int, size_t> loss_of;
  for (size_t i = 0; i < losses_.size(); ++i) {
    for (int id : losses_[i].gradients) loss_of[id] = i;
  }
  std::vector<std::vector<VarGradient>> by_loss(losses_.size());
  for (const VarGradient& g : gradients) {
    const auto loss = g.gradient == nullptr ? loss_of.end() : loss_of.find(g.gradient->id());
    if (loss == loss_of.end()) {
      return UsageError(absl::StrCat("ApplyGradients: the gradient of '", g.var->name(), "' is none that Backward gave"));
    }
    by_loss[loss->second].push_back(g);
  }
  std::vector<Var*> flags;
  for (size_t i = 0; i < losses_.size(); ++i) {
    if (settings_.master_grad) AMPC_RETURN_IF_ERROR(AddMasterGradients(main, by_loss[i]));
    AMPC_ASSIGN_OR_RETURN(Var * flag, UnscaleGradients(main, losses_[i].scaler, Rules(), by_loss[i]));
    flags.push_back(flag);
  }
  AMPC_ASSIGN_OR_RETURN(std::vector<Fate> fates, JoinLosses(main, by_loss, flags));
  std::vector<ParamUpdate> out;
  for (const Fate& fate : fates) {
    Var* flag = fate.flags.empty() ? nullptr : fate.flags[0];
    if (fate.flags.size() > 1) {
      AMPC_ASSIGN_OR_RETURN(flag, JoinFlags(main, fate.flags));
    }
    AMPC_ASSIGN_OR_RETURN(const std::vector<ParamUpdate> updates,
                          optimizer_.ApplyGradients(main, startup, fate.gradients, flag, {.style = StyleOf(options_.compat)}));
    out.insert(out.end(), updates.begin(), updates.end());
  }
  for (const ParamUpdate& update : out) {
    if (update.master != nullptr) masters_[update.param->name()] = update.master->name();
  }
  AMPC_RETURN_IF_ERROR(VerifyTraining(main));
  return out;
}

absl::StatusOr<std::vector<VarGradient>> OptimizerWithMixedPrecision::Backward(Program& main, Program& startup, Var& loss,
                                                                               const BackwardOptions& wanted) {
  AMPC_RETURN_IF_ERROR(status_);
  absl::StatusOr<std::vector<VarGradient>> out = TryBackward(main, startup, loss, wanted);
  status_ = out.status();
  return out;
}

absl::StatusOr<std::vector<ParamUpdate>> OptimizerWithMixedPrecision::ApplyGradients(Program& main, Program& startup,
                                                                                     std::vector<VarGradient> gradients) {
  AMPC_RETURN_IF_ERROR(status_);
  if (losses_.empty()) return UsageError("ApplyGradients: call Backward first");
  absl::StatusOr<std::vector<ParamUpdate>> out = TryApply(main, startup, std::move(gradients));
  status_ = out.status();
  return out;
}

absl::Status OptimizerWithMixedPrecision::Minimize(Program& main, Program& startup, Var& loss, const BackwardOptions& wanted) {
  AMPC_ASSIGN_OR_RETURN(std::vector<VarGradient> gradients, Backward(main, startup, loss, wanted));
  return ApplyGradients(main, startup, std::move(gradients)).status();
}

absl::Status OptimizerWithMixedPrecision::Minimize(ProgramBuilder& builder, Value loss, const BackwardOptions& wanted) {
  AMPC_RETURN_IF_ERROR(builder.status());
  if (loss.var == nullptr) return UsageError("Minimize: found an empty value, needed the loss");
  return Minimize(builder.program(), builder.startup(), *loss.var, wanted);
}

absl::Status OptimizerWithMixedPrecision::TryInit(ampc::Scope& scope, const AmpInitOptions& options) {
  for (const std::string& name : rewrite_.low_params) {
    if (scope.Find(name) == nullptr) return UsageError(absl::StrCat("AmpInit: the scope has no parameter '", name, "'"));
    AMPC_RETURN_IF_ERROR(scope.SetDType(name, options_.dtype));
    const auto master = masters_.find(name);
    if (!options.rewrite_master_weight || master == masters_.end()) continue;
    AMPC_RETURN_IF_ERROR(scope.Set(master->second, scope.Find(name)->value));
  }
  if (options.test_program == nullptr || (settings_.level != "O2" && !options.use_fp16_test)) return absl::OkStatus();
  if (HasGradients(*options.test_program)) return UsageError("AmpInit: the test program trains; needs one cloned before Minimize");
  const auto rewritten = RewriteForTraining(*options.test_program, options_, settings_, &rewrite_.low_params);
  return Annotate(rewritten.status(), "AmpInit: the test program");
}

absl::Status OptimizerWithMixedPrecision::AmpInit(const TrainerOptions&, ampc::Scope& scope, const AmpInitOptions& options) {
  AMPC_RETURN_IF_ERROR(status_);
  if (losses_.empty()) return UsageError("AmpInit: call Minimize first");
  return TryInit(scope, options);
}

absl::StatusOr<std::string> OptimizerWithMixedPrecision::get_scaled_loss() const {
  if (losses_.empty()) return UsageError("get_scaled_loss: call Minimize first");
  return losses_.back().scaled;
}

absl::StatusOr<std::string> OptimizerWithMixedPrecision::get_loss_scaling() const {
  if (losses_.empty()) return UsageError("get_loss_scaling: call Minimize first");
  return losses_.back().scaler.scale->name();
}

std::unique_ptr<OptimizerWithMixedPrecision> Decorate(Optimizer optimizer, DecorateOptions options) {
  return std::make_unique<OptimizerWithMixedPrecision>(std::move(optimizer), std::move(options));
}

}  // namespace ampc::amp
