// Training programs from text, with weights from values.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graph/training_program.h"
#include "graph/weight.h"
#include "runtime/train/trainer.h"
#include "tests/testlib/parse_bare.h"

namespace ampc {

// Gives the variables of that name in the main block a stored weight.
inline void SetWeights(Program& program, const std::map<std::string, HostTensor>& weights) {
  for (const auto& [name, value] : weights) {
    auto ref = std::make_unique<WeightRef>();
    ref->source = WeightBuffer(std::string(static_cast<const char*>(value.data()), value.size_bytes()));
    ref->bytes = value.size_bytes();
    ref->dtype = value.dtype();
    program.main().FindVar(name)->weight = std::move(ref);
  }
}

inline absl::StatusOr<TrainingProgram> ParseTraining(absl::string_view main, absl::string_view startup,
                                                     const std::map<std::string, HostTensor>& weights) {
  absl::StatusOr<Program> program = testing::ParseBare(main);
  if (!program.ok()) return program.status();
  SetWeights(*program, weights);
  if (startup.empty()) return TrainingProgram{*std::move(program), Program("startup")};
  absl::StatusOr<Program> first = testing::ParseBare(startup);
  if (!first.ok()) return first.status();
  return TrainingProgram{*std::move(program), *std::move(first)};
}

inline HostTensor F(std::vector<int64_t> dims, std::vector<float> values) { return HostTensor::FromValues<float>(dims, values); }

// The values of a float variable of the scope, as stored.
inline std::vector<float> Of(const Trainer& trainer, absl::string_view name) {
  const absl::Span<const float> values = trainer.scope().Find(name)->value.values<float>();
  return {values.begin(), values.end()};
}

// Linear regression by gradient descent with velocity, dynamic loss scaling and counters. A target of 1000 overflows the f16 value.
inline constexpr char kRegression[] = R"(
feed  x : f32 [?, 2]
feed  t : f32 [?, 1]
param w : f32 [2] trainable
state velocity : f32 [2]
state loss_scaling_0 : f32 [1]
state good : i32 [1]
state bad : i32 [1]
state updates : i64 [1]
state forwards : i64 [1]
w2 = reshape2(w) shape=[2, 1] : f32 [2, 1]
y = matmul_v2(x, w2) : f32 [?, 1]
d = elementwise_sub(y, t) : f32 [?, 1]
q = square(d) : f32 [?, 1]
loss = reduce_mean(q) reduce_all=true : f32 []
forwards <- increment(forwards)
scaled = elementwise_mul(d, loss_scaling_0) op_role=1 : f32 [?, 1]
low = cast(scaled) in_dtype=f32 op_role=1 out_dtype=f16 : f16 [?, 1]
wide = cast(low) in_dtype=f16 op_role=1 out_dtype=f32 : f32 [?, 1]
p = elementwise_mul(x, wide) op_role=1 : f32 [?, 2]
g = reduce_mean(p) dim=[0] op_role=1 : f32 [2]
check_finite_and_unscale(X=[g], Scale=loss_scaling_0) -> Out=[u], FoundInfinite=found op_role=2 : f32 [2], bool [1]
update_loss_scaling(X=[u], FoundInfinite=found, PrevLossScaling=loss_scaling_0, InGoodSteps=good, InBadSteps=bad) -> Out=[z], LossScaling<-loss_scaling_0, OutGoodSteps<-good, OutBadSteps<-bad decr_every_n_nan_or_inf=1 decr_ratio=0.5 incr_every_n_steps=1000 incr_ratio=2.0 op_role=2 : f32 [2]
half = scale(velocity) op_role=2 scale=0.5 : f32 [2]
velocity <- elementwise_add(half, z) op_role=2
move = scale(velocity) op_role=2 scale=-0.25 : f32 [2]
w <- elementwise_add(w, move) op_role=2
updates <- increment(updates) op_role=2
fetch loss
fetch w
)";

inline constexpr char kRegressionStartup[] = R"(
state velocity : f32 [2]
state loss_scaling_0 : f32 [1]
state good : i32 [1]
state bad : i32 [1]
state updates : i64 [1]
state forwards : i64 [1]
velocity <- fill_constant() shape=[2l] value=0.0
loss_scaling_0 <- fill_constant() shape=[1l] value=1024.0
good <- fill_constant() dtype=i32 shape=[1l] value=0.0
bad <- fill_constant() dtype=i32 shape=[1l] value=0.0
updates <- fill_constant() dtype=i64 shape=[1l] value=0.0
forwards <- fill_constant() dtype=i64 shape=[1l] value=0.0
)";

// Without `low`, nothing is rounded to f16.
inline absl::StatusOr<TrainingProgram> Regression(bool low = true) {
  const std::string text =
      low ? std::string(kRegression)
          : absl::StrReplaceAll(kRegression, {{"out_dtype=f16 : f16", "out_dtype=f32 : f32"}, {"in_dtype=f16", "in_dtype=f32"}});
  return ParseTraining(text, kRegressionStartup, {{"w", F({2}, {1, -1})}});
}

// Batch `i` of `n` rows, the same in every process; the targets are 3 x0 - 2 x1.
inline TensorMap Batch(int64_t i, int64_t n) {
  std::vector<float> x, t;
  for (int64_t r = i * n; r < (i + 1) * n; ++r) {
    const float a = static_cast<float>((r * 37 + 11) % 64) / 32 - 1;
    const float b = static_cast<float>((r * 53 + 29) % 64) / 32 - 1;
    x.insert(x.end(), {a, b});
    t.push_back(3 * a - 2 * b);
  }
  return {{"x", F({n, 2}, x)}, {"t", F({n, 1}, t)}};
}

}  // namespace ampc
