#include "graph/ops/learning_rate.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

absl::Status CheckRate(double rate) {
  if (std::isfinite(rate) && rate >= 0) return absl::OkStatus();
  return UsageError(absl::StrCat("learning rate ", rate, " needs to be finite and not below 0"));
}

absl::Status CheckPiecewise(const LearningRateRule& rule) {
  if (rule.values.size() != rule.boundaries.size() + 1) {
    return UsageError(absl::StrCat("piecewise learning rate: ", rule.values.size(), " values for ", rule.boundaries.size(),
                                   " boundaries, needs one value more than boundaries"));
  }
  int64_t before = 0;
  for (const int64_t boundary : rule.boundaries) {
    if (boundary <= before) {
      return UsageError(absl::StrCat("piecewise learning rate: boundary ", boundary, before == 0 ? " is not positive" : " does not rise",
                                     ", needs positive steps in rising order"));
    }
    before = boundary;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LearningRateRule::Check() const {
  if (kind != "constant" && kind != "piecewise" && kind != "cosine") {
    return UsageError(absl::StrCat("learning rate: found kind '", kind, "', needs constant, piecewise or cosine"));
  }
  if (kind == "piecewise") {
    if (absl::Status status = CheckPiecewise(*this); !status.ok()) return status;
  }
  if (kind == "cosine" && steps <= 0) return UsageError(absl::StrCat("cosine learning rate: steps is ", steps, ", needs to be positive"));
  if (warm_up_steps < 0) return UsageError(absl::StrCat("learning rate: warm-up has ", warm_up_steps, " steps, needs 0 or more"));
  std::vector<double> rates = kind == "piecewise" ? values : std::vector<double>{base, least};
  rates.insert(rates.end(), {warm_up_from, warm_up_to});
  for (const double rate : rates) {
    if (absl::Status status = CheckRate(rate); !status.ok()) return status;
  }
  return absl::OkStatus();
}

LearningRateKind LearningRateRule::Kind() const {
  if (kind == "piecewise") return LearningRateKind::kPiecewise;
  return kind == "cosine" ? LearningRateKind::kCosine : LearningRateKind::kConstant;
}

double LearningRateRule::At(int64_t step) const {
  const LearningRateFormula<const int64_t*, const double*> formula{
      Kind(),       base,      static_cast<int64_t>(boundaries.size()), boundaries.data(), values.data(), steps, least, warm_up_steps,
      warm_up_from, warm_up_to};
  return formula.At(step);
}

std::vector<Attr> LearningRateAttrs(const LearningRateRule& rule) {
  std::vector<Attr> attrs = {{"kind", rule.kind}};
  if (rule.kind == "piecewise") {
    attrs.push_back({"boundaries", rule.boundaries});
    attrs.push_back({"values", rule.values});
  } else {
    attrs.push_back({"base", rule.base});
  }
  if (rule.kind == "cosine") {
    attrs.push_back({"steps", rule.steps});
    attrs.push_back({"least", rule.least});
  }
  if (rule.warm_up_steps != 0) {
    attrs.push_back({"warm_up_steps", rule.warm_up_steps});
    attrs.push_back({"warm_up_from", rule.warm_up_from});
    attrs.push_back({"warm_up_to", rule.warm_up_to});
  }
  return attrs;
}

LearningRateRule ReadLearningRate(const Op& op) {
  LearningRateRule rule;
  rule.kind = op.GetString("kind");
  rule.base = op.GetFloat("base");
  rule.boundaries = op.GetInts("boundaries");
  rule.values = op.GetFloats("values");
  rule.steps = op.GetInt("steps");
  rule.least = op.GetFloat("least");
  rule.warm_up_steps = op.GetInt("warm_up_steps");
  rule.warm_up_from = op.GetFloat("warm_up_from");
  rule.warm_up_to = op.GetFloat("warm_up_to");
  return rule;
}

}  // namespace ampc
