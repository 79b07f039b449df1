// An overflow at any op of a training: a step that is skipped for it changes nothing but the scale and its counters, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/layers.h"
#include "passes/append_op.h"
#include "passes/autodiff/append_backward.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr int kRows = 4, kSide = 6, kClasses = 3;

Value Classify(ProgramBuilder& b, Value h) {
  return b.Mean(b.SoftmaxWithCrossEntropy(b.FullyConnected(h, kClasses), b.Feed("y", DType::kI64, {kRows, 1})));
}

Value Image(ProgramBuilder& b) { return b.Feed("x", DType::kF32, {kRows, 1, kSide, kSide}); }

Value Mlp(ProgramBuilder& b) { return Classify(b, b.FullyConnected(Image(b), 8, {.act = "relu"})); }

Value Convolution(ProgramBuilder& b) {
  const Value h = b.BatchNorm(b.Conv2D(Image(b), {.filters = 2, .kernel = 3, .bias = false}), {.act = "relu"});
  return Classify(b, b.BatchNorm(b.Conv2D(b.Pool2D(h, {.type = "max", .size = 2, .stride = 2}), {.filters = 2, .kernel = 1})));
}

Value Transformer(ProgramBuilder& b) {
  const Value x = layers::Reshape(b, Image(b), {0, kSide, kSide});
  const Value h = layers::Dropout(b, layers::SelfAttention(b, x, {.heads = 2}), {.prob = 0.1f});
  return Classify(b, layers::ReduceMean(b, layers::LayerNorm(b, layers::Add(b, x, h), {.begin_axis = 2}), {1}));
}

struct Setting {
  std::string name;
  std::function<Value(ProgramBuilder&)> network;
  std::string level;
  int accumulate = 1;
};

struct Training {
  TrainingProgram program;
  std::string loss;
  std::unique_ptr<amp::OptimizerWithMixedPrecision> decorated;  // null at O0
};

absl::StatusOr<Training> Make(const Setting& setting) {
  ProgramBuilder b("net", 1);
  const Value loss = setting.network(b);
  b.Fetch(loss);
  Optimizer optimizer = Adam({.lr = LearningRate::Cosine(0.01, 100), .clip = GradientClip::GlobalNorm(1)});
  Training out{{Program("main"), Program("startup")}, loss.var->name(), nullptr};
  if (setting.level == "O0") {
    AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(b.program(), *loss.var));
    AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(b.program(), b.startup(), gradients).status());
  } else {
    out.decorated = amp::Decorate(std::move(optimizer), {.init_loss_scaling = 1024, .level = setting.level});
    AMPC_RETURN_IF_ERROR(out.decorated->Minimize(b, loss));
  }
  AMPC_ASSIGN_OR_RETURN(out.program, b.Build());
  return out;
}

// Adds the feed `poison` to the first float result of op `at`, for all that follow it; false where there is none to add to.
bool Poison(Program& program, size_t at) {
  Block& block = program.main();
  const Op& op = *block.ops()[at];
  Var* value = op.outputs().empty() ? nullptr : op.outputs()[0];
  if (value == nullptr || value->kind != VarKind::kTemp || !value->type.IsFloat()) return false;
  const int32_t role = RoleOf(op) & ~kRoleLoss;
  TensorType scalar;
  scalar.dtype = DType::kF32;
  scalar.has_rank = true;
  Var* poison = block.AddVar("poison", VarKind::kFeed, scalar);
  program.feeds.push_back(poison);
  const size_t before = block.ops().size();
  if (value->type.dtype != DType::kF32) {
    Var* low = NewTemp(block, "poison.low");
    EXPECT_OK(
        AppendOp(block, "cast", {{"X", {poison}}}, {{"Out", {low}}}, {{"in_dtype", DType::kF32}, {"out_dtype", value->type.dtype}}, role)
            .status());
    poison = low;
  }
  Var* sum = NewTemp(block, "poisoned");
  EXPECT_OK(
      AppendOp(block, "elementwise_add", {{"X", {value}}, {"Y", {poison}}}, {{"Out", {sum}}}, {{"axis", int32_t{-1}}}, role).status());
  for (size_t i = at + 1; i < before; ++i) {
    Op& reader = *block.ops()[i];
    for (int k = 0; k < static_cast<int>(reader.inputs().size()); ++k) {
      if (reader.inputs()[k] == value) reader.ReplaceInput(k, sum);
    }
  }
  std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
  std::rotate(ops.begin() + static_cast<int64_t>(at) + 1, ops.begin() + static_cast<int64_t>(before), ops.end());
  block.SetOps(std::move(ops));
  return true;
}

TensorMap Batch(int seed, float poison) {
  std::vector<float> x(kRows * kSide * kSide);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37 + seed * 11) % 64) / 32 - 1;
  TensorMap out;
  out["x"] = HostTensor::FromValues<float>(std::vector<int64_t>{kRows, 1, kSide, kSide}, x);
  out["y"] = HostTensor::FromValues<int64_t>(std::vector<int64_t>{kRows, 1}, std::vector<int64_t>{0, 1, 2, 1});
  out["poison"] = HostTensor::FromValues<float>(std::vector<int64_t>{}, std::vector<float>{poison});
  return out;
}

std::map<std::string, HostTensor> Values(const Trainer& trainer) {
  std::map<std::string, HostTensor> out;
  for (const auto& [name, variable] : trainer.scope().variables()) {
    if (!absl::StartsWith(name, "loss_scaling") && !absl::StartsWith(name, "num_")) out[name] = variable.value;
  }
  return out;
}

bool IsFinite(const HostTensor& value) {
  if (value.dtype() != DType::kF32) return true;
  const absl::Span<const float> all = value.values<float>();
  return std::all_of(all.begin(), all.end(), [](float v) { return std::isfinite(v); });
}

// One window with an infinity at op `at` in its call `bad`; whether it was skipped. Nothing where the op has no such result.
std::optional<bool> Overflow(const Setting& setting, size_t at, int bad) {
  absl::StatusOr<Training> training = Make(setting);
  EXPECT_OK(training);
  if (!training.ok()) return std::nullopt;
  const bool in_update = (RoleOf(*training->program.main.main().ops()[at]) & kRoleOptimize) != 0;
  const std::string what = absl::StrCat(setting.name, " ", setting.level, " accumulate ", setting.accumulate, ": ",
                                        Describe(*training->program.main.main().ops()[at]));
  if (!Poison(training->program.main, at)) return std::nullopt;
  bool skipped = false;
  TrainerOptions options{.threads = 1, .accumulate = setting.accumulate, .loss = training->loss, .keep_going = true};
  options.log = [&](const StepReport& report) {
    skipped = report.updated && !report.loss_finite;
    for (const ScalerReport& s : report.scalers) skipped = skipped || (report.updated && s.found_inf);
  };
  absl::StatusOr<Trainer> trainer = Trainer::Create(std::move(training->program), options);
  EXPECT_OK(trainer) << what;
  if (!trainer.ok()) return std::nullopt;
  if (training->decorated != nullptr) {
    EXPECT_OK(training->decorated->AmpInit({}, trainer->scope()));
  }
  for (int i = 0; i < setting.accumulate; ++i) EXPECT_OK(trainer->Step(Batch(i, 0)).status()) << what;
  EXPECT_FALSE(skipped) << what;
  const std::map<std::string, HostTensor> before = Values(*trainer);
  for (int i = 0; i < setting.accumulate; ++i) {
    EXPECT_OK(trainer->Step(Batch(10 + i, i == bad ? std::numeric_limits<float>::infinity() : 0)).status()) << what;
  }
  bool finite = true;
  for (const auto& [name, value] : Values(*trainer)) {
    EXPECT_TRUE(!skipped || value == before.at(name)) << what << " changed " << name;
    finite = finite && IsFinite(value);
  }
  // Without a check of the gradients, and behind it, what is not finite is found by the next loss.
  EXPECT_TRUE(finite || setting.level == "O0" || in_update) << what;
  return skipped;
}

TEST(SkippedStep, WhereverItOverflows) {
  const std::map<std::string, std::pair<std::function<Value(ProgramBuilder&)>, int>> networks = {
      {"mlp", {Mlp, 1}}, {"convolution", {Convolution, 2}}, {"transformer", {Transformer, 5}}};
  for (const auto& [name, network] : networks) {
    for (const std::string level : {"O0", "O1", "O2"}) {
      for (const int accumulate : {1, 2}) {
        const Setting setting{name, network.first, level, accumulate};
        ASSERT_OK_AND_ASSIGN(const Training training, Make(setting));
        const size_t ops = training.program.main.main().ops().size();
        int tried = 0, skipped = 0;
        for (size_t at = 0; at < ops; at += network.second) {
          const std::optional<bool> was = Overflow(setting, at, static_cast<int>(at) % accumulate);
          tried += was.has_value() ? 1 : 0;
          skipped += was.value_or(false) ? 1 : 0;
        }
        EXPECT_GT(tried, 8);
        EXPECT_GT(skipped * (level == "O0" ? 6 : 3), tried) << name << " " << level;
      }
    }
  }
}

}  // namespace
}  // namespace ampc
