// Training steps whose linear layers and gradients are fused for the device, against the same steps without.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/initializer.h"
#include "graph/layers.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/device/open_device.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc {
namespace {

constexpr char kDevice[] = "emulated:0";
constexpr int kFeatures = 40, kRows = 16, kSteps = 5;

// Without these, nothing is fused.
const KernelRegistry& Unfused() {
  static const auto* const kernels = [] {
    auto* all = new KernelRegistry;
    for (const KernelEntry* entry : CudaKernels().All()) {
      if (!entry->op.starts_with("fused_gemm_epilogue")) all->Add(*entry).IgnoreError();
    }
    return all;
  }();
  return *kernels;
}

struct Case {
  const char* level;
  const char* act;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.level << " " << c.act; }
};

Value Activate(ProgramBuilder& b, const std::string& act, Value x) {
  return act == "gelu" ? b.Op("gelu", {{"X", {x}}}, {{"approximate", true}}) : b.Relu(x);
}

// The network of Paddle's tutorial on mixed precision, smaller.
absl::StatusOr<Trainer> SimpleNet(const Case& c, std::string* loss, const TrainerOptions& options) {
  ProgramBuilder b("simplenet", 1);
  Value h = b.Feed("x", DType::kF32, {-1, kFeatures});
  for (int i = 0; i < 2; ++i) h = Activate(b, c.act, b.FullyConnected(h, kFeatures));
  const Value mean = layers::MeanSquareError(b, b.FullyConnected(h, kFeatures), b.Feed("y", DType::kF32, {-1, kFeatures}));
  b.Fetch(mean);
  *loss = mean.var->name();
  Optimizer optimizer = Momentum({.lr = 0.05, .momentum = 0.9, .multi_precision = true});
  if (std::string(c.level) == "FP32") {
    absl::StatusOr<std::vector<VarGradient>> gradients = AppendBackward(b.program(), *mean.var);
    if (!gradients.ok()) return gradients.status();
    if (absl::Status s = optimizer.ApplyGradients(b.program(), b.startup(), *gradients).status(); !s.ok()) return s;
    return Trainer::Create(b.Build(), options);
  }
  amp::DecorateOptions how{.init_loss_scaling = 128};
  how.level = c.level;
  how.use_pure_fp16 = how.level == "O2";
  how.use_fp16_guard = false;
  const auto mixed = amp::Decorate(std::move(optimizer), how);
  if (absl::Status s = mixed->Minimize(b, mean); !s.ok()) return s;
  absl::StatusOr<Trainer> trainer = Trainer::Create(b.Build(), options);
  if (!trainer.ok()) return trainer;
  if (absl::Status s = mixed->AmpInit(options, trainer->scope()); !s.ok()) return s;
  return trainer;
}

TensorMap Data(uint64_t seed) {
  const auto values = [seed](const char* name) {
    return *InitialValues(Initializer::Normal(0, 1), DType::kF32, {kRows, kFeatures}, seed, name);
  };
  return {{"x", values("x")}, {"y", values("y")}};
}

struct Losses {
  std::vector<float> values;
  int64_t launches = 0;  // of the first step
};

void Train(const Case& c, const TrainerOptions& options, Losses* out) {
  std::string loss;
  ASSERT_OK_AND_ASSIGN(Trainer trainer, SimpleNet(c, &loss, options));
  for (uint64_t i = 0; i < kSteps; ++i) {
    ASSERT_OK_AND_ASSIGN(const TensorMap fetched, trainer.Step(Data(i)));
    out->values.push_back(fetched.at(loss).values<float>()[0]);
    EXPECT_TRUE(std::isfinite(out->values.back()));
  }
}

void TrainOnDevice(const Case& c, const KernelRegistry& kernels, Losses* out) {
  AddEmulatedDevice(kernels);
  ASSERT_OK_AND_ASSIGN(const DeviceTarget target, OpenDevice(kDevice));
  const TrainerOptions options{.device = kDevice, .threads = 1};
  std::string loss;
  ASSERT_OK_AND_ASSIGN(Trainer trainer, SimpleNet(c, &loss, options));
  const int64_t before = EmulatedLaunches(*target.device);
  ASSERT_OK(trainer.Enqueue(Data(0)));
  out->launches = EmulatedLaunches(*target.device) - before;
  for (int i = 0; i < 5; ++i) {
    const int64_t waits = target.device->synchronizations();
    ASSERT_OK(trainer.Enqueue(Data(0)));
    EXPECT_EQ(target.device->synchronizations(), waits) << "step " << i;
  }
  ASSERT_OK(trainer.Wait());
  Train(c, options, out);
}

class FusedLinear : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(SimpleNet, FusedLinear,
                         ::testing::Values(Case{"FP32", "relu"}, Case{"O1", "relu"}, Case{"O2", "relu"}, Case{"FP32", "gelu"},
                                           Case{"O1", "gelu"}, Case{"O2", "gelu"}),
                         [](const auto& info) { return absl::StrCat(info.param.level, "_", info.param.act); });

// Three additions and the sums of their gradients go, and two activations with their gradients.
TEST_P(FusedLinear, StepsLoseLaunchesAndKeepLosses) {
  Losses cpu, plain, fused;
  Train(GetParam(), {.threads = 1}, &cpu);
  TrainOnDevice(GetParam(), Unfused(), &plain);
  TrainOnDevice(GetParam(), CudaKernels(), &fused);
  ASSERT_EQ(fused.values.size(), static_cast<size_t>(kSteps));
  std::cout << "launches of a step: " << plain.launches << ", with fused layers " << fused.launches << "\n";
  RecordProperty("launches", static_cast<int>(fused.launches));
  EXPECT_LE(fused.launches, plain.launches - 10);
  const testing::Tolerance tolerance = testing::ToleranceFor(std::string(GetParam().level) == "FP32" ? DType::kF32 : DType::kF16);
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_TRUE(testing::Near(fused.values[i], plain.values[i], tolerance))
        << "step " << i << ": " << fused.values[i] << ", needs " << plain.values[i];
    EXPECT_TRUE(testing::Near(fused.values[i], cpu.values[i], tolerance))
        << "step " << i << ": " << fused.values[i] << ", needs " << cpu.values[i];
  }
}

}  // namespace
}  // namespace ampc
