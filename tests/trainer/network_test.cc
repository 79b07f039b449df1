// The network of Paddle's pull request 29544, on images whose class is their brightest quarter: built, decorated, trained, tested, resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/builder.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr int64_t kSide = 12;

TensorMap Images(int64_t batch, int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(batch));
  std::vector<float> x(n * kSide * kSide);
  std::vector<int64_t> y(n);
  for (int64_t i = 0; i < n; ++i) {
    y[i] = random() % 4;
    for (int64_t p = 0; p < kSide * kSide; ++p) {
      const int64_t quarter = (p / kSide >= kSide / 2 ? 2 : 0) + (p % kSide >= kSide / 2 ? 1 : 0);
      x[i * kSide * kSide + p] = static_cast<float>(random() % 1024) / 1024 + (quarter == y[i] ? 0.5f : 0.0f);
    }
  }
  const int64_t dims[] = {n, 1, kSide, kSide};
  const int64_t labels[] = {n, 1};
  TensorMap out;
  out["x"] = HostTensor::FromValues<float>(dims, x);
  out["y"] = HostTensor::FromValues<int64_t>(labels, y);
  return out;
}

struct Network {
  ProgramBuilder b{"net", 1};
  Value loss, logits;
  Program test;

  explicit Network(bool normalised = true) {
    Value h = b.Conv2D(b.Feed("x", DType::kF32, {-1, 1, kSide, kSide}), {.filters = 4, .kernel = 3, .bias = false});
    {
      Fp16Guard guard(b);
      h = normalised ? b.BatchNorm(h, {.act = "relu"}) : b.Relu(h);
      h = b.Pool2D(h, {.type = "max", .size = 2, .stride = 2});
      logits = b.FullyConnected(h, 4);
      loss = b.Mean(b.SoftmaxWithCrossEntropy(logits, b.Feed("y", DType::kI64, {-1, 1})));
    }
    b.Fetch(loss);
    b.Fetch(logits);
    test = b.CloneForTest();
  }

  absl::StatusOr<Trainer> Plain(Optimizer optimizer, const TrainerOptions& options) {
    absl::StatusOr<std::vector<VarGradient>> gradients = AppendBackward(b.program(), *loss.var);
    if (!gradients.ok()) return gradients.status();
    if (absl::Status s = optimizer.ApplyGradients(b.program(), b.startup(), *gradients).status(); !s.ok()) return s;
    return Trainer::Create(b.Build(), options);
  }

  absl::StatusOr<Trainer> Mixed(Optimizer optimizer, const amp::DecorateOptions& how, const TrainerOptions& options) {
    std::unique_ptr<amp::OptimizerWithMixedPrecision> mixed = amp::Decorate(std::move(optimizer), how);
    if (absl::Status s = mixed->Minimize(b, loss); !s.ok()) return s;
    absl::StatusOr<Trainer> trainer = Trainer::Create(b.Build(), options);
    if (!trainer.ok()) return trainer;
    if (absl::Status s = mixed->AmpInit(options, trainer->scope(), {.test_program = &test, .use_fp16_test = true}); !s.ok()) return s;
    return trainer;
  }
};

float First(const TensorMap& out) {
  for (const auto& [name, value] : out) {
    if (value.num_elements() == 1) return value.values<float>()[0];
  }
  return std::numeric_limits<float>::quiet_NaN();
}

double Accuracy(Trainer& trainer, const std::string& logits) {
  int right = 0;
  constexpr int64_t kImages = 64;
  const TensorMap images = Images(1000, kImages);
  absl::StatusOr<TensorMap> out = trainer.Test(images);
  EXPECT_THAT(out, testing::IsOk());
  if (!out.ok()) return 0;
  const HostTensor& scores = out->at(logits);
  const auto score = [&scores](int64_t i) {
    if (scores.dtype() == DType::kF16) return static_cast<float>(scores.values<Half>()[i]);
    if (scores.dtype() == DType::kBF16) return static_cast<float>(scores.values<BFloat16>()[i]);
    return scores.values<float>()[i];
  };
  for (int64_t i = 0; i < kImages; ++i) {
    int64_t best = 0;
    for (int64_t c = 1; c < 4; ++c) best = score(4 * i + c) > score(4 * i + best) ? c : best;
    right += best == images.at("y").values<int64_t>()[i] ? 1 : 0;
  }
  return static_cast<double>(right) / kImages;
}

void ExpectLearns(absl::StatusOr<Trainer> made, Network& net) {
  ASSERT_OK_AND_ASSIGN(Trainer trainer, std::move(made));
  ASSERT_OK(trainer.SetTestProgram(std::move(net.test)));
  float first = 0, last = 0;
  for (int i = 0; i < 80; ++i) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, trainer.Step(Images(i, 16)));
    last = First(out);
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.5f * first);
  EXPECT_GE(Accuracy(trainer, net.logits.var->exported()), 0.9);
}

const MomentumOptions kMomentum = {.lr = 0.05, .momentum = 0.9, .multi_precision = true};

TEST(Network, LearnsInFp32) {
  Network net;
  ExpectLearns(net.Plain(Momentum(kMomentum), {.threads = 1}), net);
}

TEST(Network, LearnsAtO1) {
  Network net;
  ExpectLearns(net.Mixed(Momentum(kMomentum), {}, {.threads = 1}), net);
}

TEST(Network, LearnsAtO2InTheGuard) {
  Network net;
  ExpectLearns(
      net.Mixed(Momentum(kMomentum), {.init_loss_scaling = 32768, .use_dynamic_loss_scaling = true, .use_pure_fp16 = true}, {.threads = 1}),
      net);
}

TEST(Network, LearnsAtO2Everywhere) {
  Network net;
  ExpectLearns(net.Mixed(Momentum(kMomentum), {.use_pure_fp16 = true, .use_fp16_guard = false}, {.threads = 1}), net);
}

TEST(Network, LearnsInBf16) {
  Network net;
  ExpectLearns(net.Mixed(AdamW({.lr = 0.01}), {.level = "O2", .dtype = DType::kBF16}, {.threads = 1}), net);
}

// Names of the variables that differ.
std::vector<std::string> Changes(const Scope& a, const std::map<std::string, HostTensor>& b) {
  std::vector<std::string> names;
  for (const auto& [name, variable] : a.variables()) {
    if (!(variable.value == b.at(name))) names.push_back(name);
  }
  return names;
}

std::map<std::string, HostTensor> Values(const Scope& scope) {
  std::map<std::string, HostTensor> out;
  for (const auto& [name, variable] : scope.variables()) out[name] = variable.value;
  return out;
}

TEST(Network, ASkippedStepChangesNothingButTheScale) {
  const LearningRate schedule = LearningRate::Cosine(0.05, 100).WarmUp(10, 0, 0.05);
  for (const Optimizer& optimizer : {Momentum({.lr = schedule, .momentum = 0.9}), Adam({.lr = schedule}), Lamb({.lr = schedule})}) {
    Network net;
    ASSERT_OK_AND_ASSIGN(Trainer trainer, net.Mixed(optimizer, {.use_pure_fp16 = true, .use_fp16_guard = false}, {.threads = 1}));
    for (int i = 0; i < 3; ++i) ASSERT_OK(trainer.Step(Images(i, 8)));
    const std::map<std::string, HostTensor> before = Values(trainer.scope());
    TensorMap bad = Images(3, 8);
    bad.at("x").mutable_values<float>()[5] = std::numeric_limits<float>::infinity();
    ASSERT_OK(trainer.Step(bad));
    ASSERT_EQ(trainer.scalers().size(), 1u);
    EXPECT_TRUE(trainer.scalers()[0].found_inf);
    for (const std::string& name : Changes(trainer.scope(), before)) {
      const bool scaling = name.rfind("loss_scaling", 0) == 0 || name.rfind("num_", 0) == 0;
      EXPECT_TRUE(scaling) << optimizer.type() << " changed " << name;
    }
  }
}

TensorMap Overflowing(int64_t batch) {
  TensorMap bad = Images(batch, 8);
  bad.at("x").mutable_values<float>()[5] = std::numeric_limits<float>::infinity();
  return bad;
}

TEST(Network, AStepWithoutAFiniteLossEndsTrainingAndChangesNothing) {
  for (const int accumulate : {1, 2}) {
    Network net;
    ASSERT_OK_AND_ASSIGN(Trainer trainer,
                         net.Plain(Momentum(kMomentum), {.threads = 1, .accumulate = accumulate, .loss = net.loss.var->name()}));
    for (int i = 0; i < 2; ++i) ASSERT_OK(trainer.Step(Images(i, 8)));
    const std::map<std::string, HostTensor> before = Values(trainer.scope());
    for (int i = 1; i < accumulate; ++i) ASSERT_OK(trainer.Step(Overflowing(3)));
    EXPECT_THAT(
        trainer.Step(accumulate == 1 ? Overflowing(3) : Images(4, 8)),
        testing::StatusIs(ExitCode::kNo,
                          ::testing::AllOf(::testing::HasSubstr(absl::StrCat("training step ", 2 + accumulate,
                                                                             ": the loss 'mean_0.tmp_0' is not finite; op 'conv2d'")),
                                           ::testing::HasSubstr("infinite values of"))));
    EXPECT_EQ(Changes(trainer.scope(), before), std::vector<std::string>());
  }
}

TEST(Network, ThatKeepsGoingLeavesOutWhatHasNoFiniteLoss) {
  Network a, b;
  ASSERT_OK_AND_ASSIGN(Trainer with, a.Plain(Momentum(kMomentum), {.threads = 1, .loss = a.loss.var->name(), .keep_going = true}));
  ASSERT_OK_AND_ASSIGN(Trainer without, b.Plain(Momentum(kMomentum), {.threads = 1}));
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(with.Step(i == 3 ? Overflowing(3) : Images(i, 8)));
    if (i == 3) continue;
    ASSERT_OK(without.Step(Images(i, 8)));
  }
  EXPECT_EQ(Changes(with.scope(), Values(without.scope())), std::vector<std::string>());
}

TEST(Network, AnOverflowAtTheSmallestScaleEndsTraining) {
  Network net;
  TrainerOptions options{.threads = 1, .loss = net.loss.var->name()};
  ASSERT_OK_AND_ASSIGN(Trainer trainer,
                       net.Mixed(Momentum(kMomentum), {.init_loss_scaling = 4, .use_pure_fp16 = true, .use_fp16_guard = false}, options));
  for (int i = 0; i < 2; ++i) ASSERT_OK(trainer.Step(Overflowing(i)));  // 4, 2
  EXPECT_THAT(trainer.Step(Overflowing(2)), testing::StatusIs(ExitCode::kNo, ::testing::HasSubstr("training step 3: ")));
}

TEST(Network, TheFirstStepAtTheDefaultScaleIsNoneToSkip) {
  Network net;
  ASSERT_OK_AND_ASSIGN(Trainer trainer, net.Mixed(Momentum(kMomentum), {.use_pure_fp16 = true, .use_fp16_guard = false}, {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(const TensorMap out, trainer.Step(Images(0, 16)));
  EXPECT_FALSE(trainer.scalers()[0].found_inf);
  EXPECT_NE(First(out), static_cast<float>(Half(First(out))));  // more than eleven bits
}

TEST(Network, SeveralSmallBatchesAreOneLarge) {
  Network large(false), small(false);
  const MomentumOptions momentum = {.lr = 0.05, .momentum = 0.9, .clip = GradientClip::GlobalNorm(0.5)};
  ASSERT_OK_AND_ASSIGN(Trainer one, large.Plain(Momentum(momentum), {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(Trainer two, small.Plain(Momentum(momentum), {.threads = 1, .accumulate = 2}));
  for (int i = 0; i < 6; ++i) {
    const TensorMap all = Images(i, 16);
    ASSERT_OK(one.Step(all));
    for (int part = 0; part < 2; ++part) {
      TensorMap half = Images(i, 8);
      std::copy_n(all.at("x").values<float>().data() + part * 8 * kSide * kSide, 8 * kSide * kSide,
                  half.at("x").mutable_values<float>().data());
      std::copy_n(all.at("y").values<int64_t>().data() + part * 8, 8, half.at("y").mutable_values<int64_t>().data());
      ASSERT_OK(two.Step(half));
    }
  }
  for (const auto& [name, variable] : one.scope().variables()) {
    const absl::Span<const float> a = variable.value.values<float>(), b = two.scope().Find(name)->value.values<float>();
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5 * std::max(1.0f, std::abs(a[i]))) << name << " at " << i;
  }
}

TEST(Network, AccumulatesInMixedPrecision) {
  Network net;
  ASSERT_OK_AND_ASSIGN(Trainer trainer,
                       net.Mixed(Momentum(kMomentum), {.use_pure_fp16 = true, .use_fp16_guard = false}, {.threads = 1, .accumulate = 2}));
  float first = 0, last = 0;
  for (int i = 0; i < 120; ++i) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, trainer.Step(Images(i, 8)));
    last = First(out);
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.5f * first);
  EXPECT_EQ(trainer.updates(), 60);
}

TEST(Network, ResumesBitForBit) {
  const std::string dir = (std::filesystem::path(::testing::TempDir()) / absl::StrCat("network.", getpid())).string();
  const auto make = [](std::optional<Network>& net) {
    net.emplace();
    return net->Mixed(Adam({.lr = LearningRate::Cosine(0.02, 40).WarmUp(5, 0, 0.02)}),
                      {.incr_every_n_steps = 4, .decr_every_n_nan_or_inf = 1}, {.threads = 1});
  };
  std::optional<Network> a, b;
  ASSERT_OK_AND_ASSIGN(Trainer whole, make(a));
  ASSERT_OK_AND_ASSIGN(Trainer resumed, make(b));
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(whole.Step(Images(i, 8)));
    if (i == 9) {
      ASSERT_OK(whole.Save(dir));
      ASSERT_OK_AND_ASSIGN(RestoredCheckpoint restored, resumed.Restore(dir));
      EXPECT_TRUE(restored.notes.empty());
    }
    if (i <= 9) continue;
    ASSERT_OK(resumed.Step(Images(i, 8)));
  }
  EXPECT_EQ(Changes(whole.scope(), Values(resumed.scope())), std::vector<std::string>());
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace ampc
