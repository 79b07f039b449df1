// LearningRateRule: a learning rate as a function of the step, shared by the op lr_schedule, its kernel and the optimizers.
// The formulas are those of Paddle's PiecewiseDecay, CosineAnnealingDecay and LinearWarmup, in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/attr.h"
#include "graph/op.h"
#include "graph/ops/learning_rate_formula.h"

namespace ampc {

struct LearningRateRule {
  std::string kind = "constant";    // or "piecewise", "cosine"
  double base = 0.001;              // constant: the rate; cosine: where it starts
  std::vector<int64_t> boundaries;  // piecewise: values[i] until step boundaries[i], the last value from there on
  std::vector<double> values;
  int64_t steps = 0;  // cosine: steps from `base` down to `least`
  double least = 0;
  int64_t warm_up_steps = 0;  // linear from `warm_up_from` to `warm_up_to` first; the rule's own step 0 comes after that
  double warm_up_from = 0, warm_up_to = 0;

  LearningRateKind Kind() const;  // constant where `kind` is unknown
  bool IsConstant() const { return kind == "constant" && warm_up_steps == 0; }
  // Says which field has which wrong value: an unknown kind, rates below 0 or not finite, boundaries not positive and rising, counts
  // that do not fit.
  absl::Status Check() const;
  // The rate in step `step`, counted from 0.
  double At(int64_t step) const;
};

// The rule as attributes of an op, those that say nothing left out; and back, without a check.
std::vector<Attr> LearningRateAttrs(const LearningRateRule& rule);
LearningRateRule ReadLearningRate(const Op& op);

}  // namespace ampc
