#include "passes/train/optimizer.h"

#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/train/update_writer.h"

namespace ampc {
namespace {

absl::Status NeedRange(const std::string& type, absl::string_view what, double value, double least, double below) {
  if (value >= least && value < below) return absl::OkStatus();
  return UsageError(absl::StrCat(type, ": ", what, " is ", value, ", needs ", least, " or more",
                                 std::isfinite(below) ? absl::StrCat(" and less than ", below) : " and a finite number"));
}

}  // namespace

ParamFilter::ParamFilter(std::vector<std::string> names)
    : predicate_([names = std::set<std::string, std::less<>>(names.begin(), names.end())](absl::string_view param) {
        return names.contains(param);
      }) {}

ParamFilter ParamFilter::Except(std::vector<std::string> names) {
  return ParamFilter([listed = ParamFilter(std::move(names))](absl::string_view param) { return !listed(param); });
}

Optimizer::Optimizer(std::string type, LearningRate lr, bool multi_precision, double weight_decay, ParamFilter decay, GradientClip clip)
    : type_(std::move(type)),
      lr_(std::move(lr)),
      multi_precision_(multi_precision),
      weight_decay_(weight_decay),
      decay_(std::move(decay)),
      clip_(std::move(clip)) {}

absl::StatusOr<std::vector<ParamUpdate>> Optimizer::ApplyGradients(Program& main, Program& startup, absl::Span<const VarGradient> gradients,
                                                                   Var* found_inf, const ApplyOptions& options) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  AMPC_RETURN_IF_ERROR(NeedRange(type_, "weight decay", weight_decay_, 0, kInf));
  for (const auto& [name, value] : numbers_) {
    const bool factor = name == "beta1" || name == "beta2";
    AMPC_RETURN_IF_ERROR(NeedRange(type_, name == "mu" ? "momentum" : name, value, 0, factor ? 1 : kInf));
  }
  return UpdateWriter(*this, main, startup, found_inf, options).Run(gradients);
}

Optimizer Sgd(const SgdOptions& o) { return Optimizer("sgd", o.lr, o.multi_precision, o.weight_decay, o.decay, o.clip); }

Optimizer Momentum(const MomentumOptions& o) {
  Optimizer optimizer("momentum", o.lr, o.multi_precision, o.weight_decay, o.decay, o.clip);
  optimizer.numbers_ = {{"mu", o.momentum}, {"rescale_grad", o.rescale_grad}};
  optimizer.flags_ = {{"use_nesterov", o.nesterov}};
  return optimizer;
}

Optimizer Adam(const AdamOptions& o) {
  Optimizer optimizer("adam", o.lr, o.multi_precision, o.weight_decay, o.decay, o.clip);
  optimizer.numbers_ = {{"beta1", o.beta1}, {"beta2", o.beta2}, {"epsilon", o.epsilon}};
  return optimizer;
}

Optimizer AdamW(const AdamWOptions& o) {
  Optimizer optimizer("adamw", o.lr, o.multi_precision, o.weight_decay, o.decay, o.clip);
  optimizer.numbers_ = {{"beta1", o.beta1}, {"beta2", o.beta2}, {"epsilon", o.epsilon}};
  optimizer.lr_ratio_ = o.lr_ratio;
  return optimizer;
}

Optimizer Lamb(const LambOptions& o) {
  Optimizer optimizer("lamb", o.lr, o.multi_precision, o.weight_decay, o.decay, o.clip);
  optimizer.numbers_ = {{"beta1", o.beta1}, {"beta2", o.beta2}, {"epsilon", o.epsilon}};
  if (o.always_adapt) optimizer.flags_ = {{"always_adapt", true}};
  return optimizer;
}

absl::StatusOr<Optimizer> OptimizerFromName(absl::string_view name, const CommonOptimizerOptions& options) {
  const auto make = [&options](const auto& factory, auto o) {
    o.lr = options.lr;
    o.multi_precision = options.multi_precision;
    o.weight_decay = options.weight_decay.value_or(o.weight_decay);
    o.clip = options.clip;
    return factory(o);
  };
  const std::string lower = absl::AsciiStrToLower(name);
  if (lower == "sgd") return make(Sgd, SgdOptions());
  if (lower == "momentum") return make(Momentum, MomentumOptions());
  if (lower == "adam") return make(Adam, AdamOptions());
  if (lower == "adamw") return make(AdamW, AdamWOptions());
  if (lower == "lamb") return make(Lamb, LambOptions());
  const std::vector<std::string> known = {"sgd", "momentum", "adam", "adamw", "lamb"};
  return UsageError(absl::StrCat("unknown optimizer '", name, "', needs one of ", absl::StrJoin(known, ", "), Suggest(name, known)));
}

}  // namespace ampc
