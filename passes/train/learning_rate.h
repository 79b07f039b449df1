// LearningRate: a number or a schedule, as options of an optimizer.
//
//   {.lr = 0.01}
//   {.lr = LearningRate::Cosine(0.1, 10000).WarmUp(500, 0, 0.1)}
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ops/learning_rate.h"

namespace ampc {

class LearningRate {
 public:
  LearningRate(double constant) { rule_.base = constant; }  // a number is a learning rate
  // values[i] until step boundaries[i] (rising, positive), the last value from there on: one value more than boundaries.
  static LearningRate Piecewise(std::vector<int64_t> boundaries, std::vector<double> values);
  // From `base` to `least` along half a cosine in `steps` steps (and back up in as many).
  static LearningRate Cosine(double base, int64_t steps, double least = 0);
  // This rate after `steps` steps that rise linearly from `from` to `to`.
  LearningRate WarmUp(int64_t steps, double from, double to) const;
  // "0.01", "piecewise:1000,2000:0.1,0.01,0.001", "cosine:0.1,10000[,0.001]"; each also with "+warmup:500,0,0.1" behind it.
  // Usage errors name the part and what it needs.
  static absl::StatusOr<LearningRate> Parse(absl::string_view text);

  const LearningRateRule& rule() const { return rule_; }

 private:
  LearningRateRule rule_;
};

}  // namespace ampc
