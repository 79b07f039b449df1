#include "passes/train/update_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/train/clip_gradients.h"

namespace ampc {
namespace {

// A number as Paddle's front end writes it into str_value: 0.0, 0.999, 1e-05.
std::string PythonFloat(double value) {
  char text[40];
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e16);
  const auto end = std::to_chars(text, text + sizeof(text), value, plain ? std::chars_format::fixed : std::chars_format::scientific).ptr;
  std::string out(text, end);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

TensorType One(DType dtype) { return TensorType(dtype, {1}); }

}  // namespace

absl::StatusOr<std::vector<ParamUpdate>> UpdateWriter::Run(absl::Span<const VarGradient> gradients) {
  AMPC_RETURN_IF_ERROR(ReadGradients(gradients));
  AMPC_RETURN_IF_ERROR(MakeLearningRate());
  AMPC_RETURN_IF_ERROR(AddSkip());
  std::vector<Var*> masters;
  for (const VarGradient& entry : gradients_) {
    AMPC_ASSIGN_OR_RETURN(Var * master, Master(*entry.var));
    masters.push_back(master);
  }
  AMPC_RETURN_IF_ERROR(ClipGradients(main_, o_.clip_, options_.style, gradients_));
  for (size_t i = 0; i < gradients_.size(); ++i) AMPC_RETURN_IF_ERROR(Regularize(gradients_[i], masters[i]));
  std::vector<ParamUpdate> updates;
  for (size_t i = 0; i < gradients_.size(); ++i) {
    AMPC_ASSIGN_OR_RETURN(const ParamUpdate update, Update(gradients_[i], masters[i], static_cast<int>(i)));
    updates.push_back(update);
  }
  AMPC_RETURN_IF_ERROR(AddSchedule());
  return updates;
}

absl::Status UpdateWriter::CheckGradient(const VarGradient& entry) const {
  if (entry.var->kind != VarKind::kParam) {
    return UsageError(absl::StrCat(o_.type_, ": '", entry.var->name(), "' is a ", Name(entry.var->kind), ", needs a param to update"));
  }
  const DType param = entry.var->type.dtype, gradient = entry.gradient->type.dtype;
  if (gradient == param || (IsLowPrecision(param) && gradient == DType::kF32)) return absl::OkStatus();
  return UsageError(absl::StrCat(o_.type_, ": the gradient '", entry.gradient->name(), "' of param '", entry.var->name(), "' is ",
                                 Name(gradient), ", needs ", Name(param), IsLowPrecision(param) ? " or f32" : ""));
}

absl::Status UpdateWriter::ReadGradients(absl::Span<const VarGradient> gradients) {
  for (const VarGradient& entry : gradients) {
    if (entry.gradient == nullptr) continue;
    AMPC_RETURN_IF_ERROR(CheckGradient(entry));
    gradients_.push_back(entry);
  }
  std::stable_sort(gradients_.begin(), gradients_.end(),
                   [](const VarGradient& a, const VarGradient& b) { return a.var->name() < b.var->name(); });
  const auto same = [](const VarGradient& a, const VarGradient& b) { return a.var == b.var; };
  const auto twice = std::adjacent_find(gradients_.begin(), gradients_.end(), same);
  if (twice != gradients_.end())
    return UsageError(absl::StrCat(o_.type_, ": param '", twice->var->name(), "' has two gradients, needs their sum"));
  if (found_inf_ != nullptr && found_inf_->type.dtype != DType::kBool) {
    return UsageError(absl::StrCat(o_.type_, ": '", found_inf_->name(), "' is ", ToString(found_inf_->type), ", needs one bool"));
  }
  return absl::OkStatus();
}

bool UpdateWriter::UsesMaster(const Var& param) const {
  if (!o_.multi_precision_ || !IsLowPrecision(param.type.dtype)) return false;
  return !Is(OptimizerStyle::kPaddle20) || (o_.type_ != "sgd" && o_.type_ != "lamb");
}

absl::StatusOr<Var*> UpdateWriter::State(const std::string& base, TensorType type, double value, absl::string_view device) {
  std::string& known = o_.states_[base];
  if (Var* var = known.empty() ? nullptr : main_.main().FindVar(known); var != nullptr) return var;
  int k = 0;
  while (main_.main().FindVar(absl::StrCat(base, "_", k)) != nullptr) ++k;
  known = absl::StrCat(base, "_", k);
  AMPC_ASSIGN_OR_RETURN(Var * state, AddState(main_, startup_, known, std::move(type), value));
  known = state->name();
  Op& fill = *startup_.main().ops().back();
  if (Is(OptimizerStyle::kPaddle24) || Is(OptimizerStyle::kPaddle26)) fill.SetAttr("str_value", PythonFloat(value));
  if (!own() && !device.empty()) fill.SetAttr("op_device", std::string(device));
  return state;
}

absl::Status UpdateWriter::MakeLearningRate() {
  AMPC_RETURN_IF_ERROR(o_.lr_.rule().Check());
  new_lr_ = o_.lr_name_.empty() || main_.main().FindVar(o_.lr_name_) == nullptr;
  AMPC_ASSIGN_OR_RETURN(lr_, State("learning_rate", One(DType::kF32), o_.lr_.rule().At(0)));
  o_.lr_name_ = lr_->name();
  return absl::OkStatus();
}

absl::StatusOr<Var*> UpdateWriter::Master(Var& param) {
  if (!UsesMaster(param)) return nullptr;
  const std::string name = absl::StrCat(param.name(), "_fp32_master_0");
  if (Var* shared = main_.main().FindVar(name); shared != nullptr) return shared;
  AMPC_ASSIGN_OR_RETURN(Var * master, State(absl::StrCat(param.name(), "_fp32_master"), param.type.WithDType(DType::kF32), 0));
  Block& block = startup_.main();
  Var* from = block.FindVar(param.name());
  if (from == nullptr) {
    const DType first = param.was == DType::kInvalid ? DType::kF32 : param.was;
    from = block.AddVar(param.name(), VarKind::kParam, param.type.WithDType(first));
  }
  // in_dtype is the declared type, as in Paddle; the parameter itself is not rounded yet.
  AMPC_RETURN_IF_ERROR(AppendOp(block, "cast", {{"X", {from}}}, {{"Out", {block.FindVar(name)}}},
                                {{"in_dtype", param.type.dtype}, {"out_dtype", DType::kF32}}, kRoleForward)
                           .status());
  return master;
}

absl::Status UpdateWriter::AddSkip() {
  if (found_inf_ == nullptr) return absl::OkStatus();
  const bool adamw = o_.type_ == "adamw", adam = o_.type_ == "adam", lamb = o_.type_ == "lamb";
  const bool v24 = Is(OptimizerStyle::kPaddle24), v26 = Is(OptimizerStyle::kPaddle26);
  if ((adamw && (v24 || v26)) || (adam && v26)) {
    skip_ = NewTemp(main_.main(), "memcpy_0.tmp_0");
    return AppendOp(main_.main(), "memcpy", {{"X", {found_inf_}}}, {{"Out", {skip_}}}, {{"dst_place_type", 0}}, kRoleOptimize).status();
  }
  if (own() || options_.skip_everywhere || (lamb && (v24 || v26))) skip_ = found_inf_;
  return absl::OkStatus();
}

absl::StatusOr<Var*> UpdateWriter::DecayedParam(const VarGradient& entry, Var* master) {
  Block& block = main_.main();
  const DType dtype = entry.gradient->type.dtype;
  Var* param = entry.var;
  if (param->type.dtype != dtype && master != nullptr) param = master;
  if (param->type.dtype != dtype) {
    Var* wide = NewTemp(block, absl::StrCat(param->name(), "@CAST"));
    AMPC_ASSIGN_OR_RETURN(Op * cast, AppendOp(block, "cast", {{"X", {param}}}, {{"Out", {wide}}},
                                              {{"in_dtype", param->type.dtype}, {"out_dtype", dtype}}, kRoleOptimize));
    Label(*cast, options_.style, entry, "/regularization/");
    param = wide;
  }
  Var* part = NewTemp(block, own() ? absl::StrCat(entry.var->name(), "@DECAY") : "_generated_var_0");
  AMPC_ASSIGN_OR_RETURN(
      Op * scale, AppendOp(block, "scale", {{"X", {param}}}, {{"Out", {part}}},
                           {{"scale", static_cast<float>(o_.weight_decay_)}, {"bias", 0.0f}, {"bias_after_scale", true}}, kRoleOptimize));
  Label(*scale, options_.style, entry, "/regularization/");
  return part;
}

absl::Status UpdateWriter::Regularize(VarGradient& entry, Var* master) {
  if ((o_.type_ != "sgd" && o_.type_ != "adam") || o_.weight_decay_ == 0 || !o_.decay_(entry.var->name())) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(Var * part, DecayedParam(entry, master));
  Block& block = main_.main();
  Var* sum = own() ? NewTemp(block, absl::StrCat(entry.var->name(), "@GRAD@DECAY")) : NextVersion(block, *entry.gradient);
  AMPC_ASSIGN_OR_RETURN(Op * op, AppendOp(block, "sum", {{"X", {entry.gradient, part}}}, {{"Out", {sum}}}, {}, kRoleOptimize));
  entry.gradient = sum;
  Label(*op, options_.style, entry, "/regularization/");
  return absl::OkStatus();
}

absl::Status UpdateWriter::DecayInPlace(const VarGradient& entry, Var* master, absl::string_view scope) {
  Block& block = main_.main();
  Var* weight = master != nullptr ? master : entry.var;
  const double coeff = o_.weight_decay_ * (o_.lr_ratio_ ? o_.lr_ratio_(entry.var->name()) : 1);
  const auto append = [&](absl::string_view type, const SlotVars& operands, Var* out, std::vector<Attr> attrs) -> absl::StatusOr<Var*> {
    AMPC_ASSIGN_OR_RETURN(Op * op, AppendOp(block, type, operands, {{"Out", {out}}}, std::move(attrs), kRoleOptimize));
    Label(*op, options_.style, entry, scope);
    return out;
  };
  const auto scale = [](double factor, double bias) -> std::vector<Attr> {
    return {{"scale", static_cast<float>(factor)}, {"bias", static_cast<float>(bias)}, {"bias_after_scale", true}};
  };
  Var* decayed = NewTemp(block, "tmp_0");
  if (o_.lr_.rule().IsConstant()) {
    AMPC_RETURN_IF_ERROR(append("scale", {{"X", {weight}}}, decayed, scale(1 - o_.lr_.rule().base * coeff, 0)).status());
  } else {
    AMPC_ASSIGN_OR_RETURN(Var * keep, append("scale", {{"X", {lr_}}}, NewTemp(block, "tmp_0"), scale(-coeff, 1)));
    if (weight->type.dtype != DType::kF32) {
      const DType to = weight->type.dtype;
      AMPC_ASSIGN_OR_RETURN(keep, append("cast", {{"X", {keep}}}, NewTemp(block, "tmp_0"), {{"in_dtype", DType::kF32}, {"out_dtype", to}}));
    }
    AMPC_RETURN_IF_ERROR(append("elementwise_mul", {{"X", {weight}}, {"Y", {keep}}}, decayed, {}).status());
  }
  return append("assign", {{"X", {decayed}}}, weight, {}).status();
}

absl::Status UpdateWriter::AddMoments(Var& weight, SlotVars& operands, SlotVars& results) {
  struct Moment {
    const char *slot, *out, *name;
    bool one;  // a power, else of the weight's shape
    double value;
  };
  std::vector<Moment> moments;
  if (o_.type_ == "momentum") moments = {{"Velocity", "VelocityOut", "_velocity", false, 0}};
  if (o_.numbers_.contains("beta1")) {
    moments = {{"Moment1", "Moment1Out", "_moment1", false, 0},
               {"Moment2", "Moment2Out", "_moment2", false, 0},
               {"Beta1Pow", "Beta1PowOut", "_beta1_pow_acc", true, o_.numbers_["beta1"]},
               {"Beta2Pow", "Beta2PowOut", "_beta2_pow_acc", true, o_.numbers_["beta2"]}};
  }
  const DType own_type = weight.type.dtype;
  const DType type = o_.type_ != "momentum" && IsLowPrecision(own_type) ? DType::kF32 : own_type;
  for (const Moment& m : moments) {
    AMPC_ASSIGN_OR_RETURN(Var * state, State(absl::StrCat(weight.name(), m.name), m.one ? One(type) : weight.type.WithDType(type), m.value,
                                             m.one ? "cpu" : ""));
    operands.push_back({m.slot, {state}});
    results.push_back({m.out, {state}});
  }
  return absl::OkStatus();
}

std::vector<Attr> UpdateWriter::AttrsFor(const std::string& param, bool master) const {
  std::vector<Attr> attrs;
  for (const auto& [name, value] : o_.numbers_) attrs.push_back({name, static_cast<float>(value)});
  for (const auto& [name, value] : o_.flags_) attrs.push_back({name, value});
  const bool decays = o_.weight_decay_ != 0 && o_.decay_(param);
  if (o_.type_ == "momentum") {
    attrs.push_back({"regularization_method", decays ? "l2_decay" : ""});
    attrs.push_back({"regularization_coeff", decays ? static_cast<float>(o_.weight_decay_) : 0.0f});
  } else if (o_.type_ == "adamw" && !decomposed()) {
    attrs.push_back({"coeff", static_cast<float>(o_.weight_decay_)});
    attrs.push_back({"with_decay", o_.decay_(param)});
    attrs.push_back({"lr_ratio", o_.lr_ratio_ ? static_cast<float>(o_.lr_ratio_(param)) : 1.0f});
  } else if (o_.type_ == "lamb") {
    attrs.push_back({"weight_decay", decays ? static_cast<float>(o_.weight_decay_) : 0.0f});
  }
  attrs.push_back({"multi_precision", master});
  return attrs;
}

absl::StatusOr<ParamUpdate> UpdateWriter::Update(const VarGradient& entry, Var* master, int number) {
  const std::string scope = number == 0 ? "/optimizer/" : absl::StrCat("/optimizer_", number, "/");
  if (decomposed() && o_.weight_decay_ != 0 && o_.decay_(entry.var->name())) {
    AMPC_RETURN_IF_ERROR(DecayInPlace(entry, master, absl::StrCat(scope, "weight decay/")));
  }
  SlotVars operands = {{"Param", {entry.var}}, {"Grad", {entry.gradient}}, {"LearningRate", {lr_}}};
  SlotVars results = {{"ParamOut", {entry.var}}};
  if (master != nullptr) {
    operands.push_back({"MasterParam", {master}});
    results.push_back({"MasterParamOut", {master}});
  }
  if (skip_ != nullptr) operands.push_back({"SkipUpdate", {skip_}});
  AMPC_RETURN_IF_ERROR(AddMoments(master != nullptr ? *master : *entry.var, operands, results));
  const std::string type = decomposed() ? "adam" : o_.type_;
  AMPC_ASSIGN_OR_RETURN(Op * op,
                        AppendOp(main_.main(), type, operands, results, AttrsFor(entry.var->name(), master != nullptr), kRoleOptimize));
  Label(*op, options_.style, entry, scope);
  return ParamUpdate{entry.var, entry.gradient, master, op};
}

absl::Status UpdateWriter::AddSchedule() {
  const LearningRateRule& rule = o_.lr_.rule();
  if (!new_lr_ || rule.IsConstant()) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(Var * step, State("lr_step", One(DType::kI64), 0));
  SlotVars operands = {{"LearningRate", {lr_}}, {"Step", {step}}};
  if (found_inf_ != nullptr) operands.push_back({"SkipUpdate", {found_inf_}});
  return AppendOp(main_.main(), "lr_schedule", operands, {{"LearningRateOut", {lr_}}, {"StepOut", {step}}}, LearningRateAttrs(rule),
                  kRoleOptimize)
      .status();
}

}  // namespace ampc
