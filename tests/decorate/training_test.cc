// Training in mixed precision beside a recorded fp32 training, and what a skipped step leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/json_reader.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/npz.h"
#include "passes/append_op.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr char kTraces[] = "tests/golden/paddle_numerics/";

const TensorMap& Tensors(const std::string& file) {
  static auto* files = new std::map<std::string, TensorMap>;
  const auto [it, fresh] = files->try_emplace(file);
  if (fresh) it->second = *ReadNpz(absl::StrCat(kTraces, file));
  return it->second;
}

HostTensor Slice(const HostTensor& all, int64_t i) {
  HostTensor out = *HostTensor::Create(all.dtype(), all.dims().subspan(1));
  std::memcpy(out.mutable_data(), static_cast<const char*>(all.data()) + i * out.size_bytes(), out.size_bytes());
  return out;
}

TensorMap Batch(int step) {
  TensorMap out;
  for (const auto& [name, all] : Tensors("train_batches.npz")) out.emplace(name, Slice(all, step));
  return out;
}

double First(const HostTensor& tensor) { return tensor.values<float>()[0]; }

// The losses of the release with momentum in fp32, by step.
std::vector<double> RecordedLosses() {
  const absl::StatusOr<JsonValue> json = ParseJson(testing::ReadFile(absl::StrCat(kTraces, "training.json")));
  EXPECT_OK(json);
  std::vector<double> out;
  for (const JsonValue& trace : json->Find("traces")->items) {
    if (trace.Find("name")->text != "train_momentum") continue;
    for (const JsonValue& loss : trace.Find("losses")->items)
      out.push_back(std::bit_cast<float>(static_cast<uint32_t>(std::stoul(loss.text, nullptr, 16))));
  }
  return out;
}

// The network of the traces, with something in its variables.
absl::StatusOr<TrainingProgram> ForwardProgram() {
  AMPC_ASSIGN_OR_RETURN(Program main, LoadModel(absl::StrCat(kTraces, "train.forward.pdmodel"), {.program_only = true}));
  TrainingProgram out{std::move(main), Program("startup")};
  for (const std::unique_ptr<Var>& var : out.main.main().vars()) {
    if (var->kind != VarKind::kParam && var->kind != VarKind::kState) continue;
    Var* filled = out.startup.main().AddVar(var->name(), var->kind, var->type);
    AMPC_RETURN_IF_ERROR(
        AppendOp(
            out.startup.main(), "fill_constant", {}, {{"Out", {filled}}},
            {{"shape", std::vector<int64_t>(var->type.dims.begin(), var->type.dims.end())}, {"value", 0.0f}, {"dtype", var->type.dtype}},
            kRoleForward)
            .status());
  }
  return out;
}

// Of the first loss: a few roundings in sequence, 2^-12 and 2^-9 each. Later steps start from weights that differ, and a maximum or a
// relu may go the other way; measured over 30 steps are 0.006 and 0.02.
struct LowTolerance {
  double first, later;
};
constexpr LowTolerance kF16 = {0x1p-10, 0.02}, kBF16 = {0x1p-7, 0.05};

TEST(MixedTraining, LossesFollowFp32) {
  const std::vector<double> recorded = RecordedLosses();
  ASSERT_EQ(recorded.size(), 30u);
  for (const std::string level : {"O1", "O2"}) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      absl::StatusOr<TrainingProgram> program = ForwardProgram();
      ASSERT_OK(program);
      Var* loss = program->main.main().FindVar("mean_0.tmp_0");
      program->main.fetches = {loss};
      const auto optimizer = amp::Decorate(Momentum({.lr = 0.01, .momentum = 0.9}),
                                           {.init_loss_scaling = dtype == DType::kF16 ? 32768 : 1, .level = level, .dtype = dtype});
      ASSERT_OK(optimizer->Minimize(program->main, program->startup, *loss));
      absl::StatusOr<Trainer> trainer = Trainer::Create(*std::move(program), {.threads = 1});
      ASSERT_OK(trainer);
      for (const auto& [name, value] : Tensors("train_init.npz")) {
        const Scope::Variable* var = trainer->scope().Find(name);
        ASSERT_OK(trainer->scope().SetDType(name, DType::kF32));
        ASSERT_OK(trainer->scope().Set(name, value));
        const std::string master = absl::StrCat(name, "_fp32_master_0");
        if (trainer->scope().Find(master) != nullptr) {
          ASSERT_OK(trainer->scope().Set(master, value));
        }
        ASSERT_NE(var, nullptr);
      }
      ASSERT_OK(optimizer->AmpInit({}, trainer->scope()));
      const LowTolerance low = dtype == DType::kF16 ? kF16 : kBF16;
      double worst = 0;
      for (size_t step = 0; step < recorded.size(); ++step) {
        const absl::StatusOr<TensorMap> out = trainer->Step(Batch(static_cast<int>(step)));
        ASSERT_OK(out);
        const HostTensor& value = out->at("mean_0.tmp_0");
        ASSERT_EQ(value.dtype(), DType::kF32);
        if (step == 0) {
          EXPECT_LT(std::abs(First(value) / recorded[0] - 1), low.first) << level << " " << Name(dtype);
        }
        worst = std::max(worst, std::abs(First(value) / recorded[step] - 1));
      }
      EXPECT_LT(worst, low.later) << level << " " << Name(dtype);
      EXPECT_GT(worst, 0) << "nothing was rounded";
    }
  }
}

// A gradient of 1.3e-9, which is 4.4e-5 while it is scaled: unscaled it is none of f16's numbers, and the weight moves by it nevertheless.
TEST(SmallGradients, MoveTheMasterWeight) {
  for (const auto& [name, optimizer] :
       std::map<std::string, Optimizer>{{"sgd", Sgd({.lr = 1e6})}, {"clipped", Sgd({.lr = 1e6, .clip = GradientClip::GlobalNorm(1)})}}) {
    for (const std::optional<bool> master_grad : {std::optional<bool>(), std::optional<bool>(false)}) {
      ProgramBuilder b;
      const Value x = b.Feed("x", DType::kF32, {4, 8});
      const Value loss = b.Op("scale", {{"X", {b.Mean(b.FullyConnected(x, 3, {.bias = false}))}}}, {{"scale", 1e-9f}});
      b.Fetch(loss);
      const auto decorated = amp::Decorate(optimizer, {.init_loss_scaling = 32768,
                                                       .lists = {.custom_black_list = {"mean", "reduce_mean", "scale"}},
                                                       .level = "O2",
                                                       .master_grad = master_grad});
      ASSERT_OK(decorated->Minimize(b, loss));
      ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(b.Build(), {.threads = 1}));
      ASSERT_OK(decorated->AmpInit({}, trainer.scope()));
      const auto weights = [&] {
        return std::vector<float>(trainer.scope().Find("fc_0.w_0_fp32_master_0")->value.values<float>().begin(),
                                  trainer.scope().Find("fc_0.w_0_fp32_master_0")->value.values<float>().end());
      };
      const std::vector<float> before = weights();
      ASSERT_OK(trainer.Step({{"x", HostTensor::FromValues<float>({4, 8}, std::vector<float>(32, 4))}}).status());
      const std::vector<float> after = weights();
      const double moved = master_grad.value_or(true) ? 1e6 * 4 * 4 * 1e-9 / 12 : 0;
      for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i] - after[i], moved, 0.03 * moved + 1e-7 * moved) << name << " " << i;
    }
  }
}

std::map<std::string, std::string> Snapshot(const Trainer& trainer) {
  std::map<std::string, std::string> out;
  for (const auto& [name, var] : trainer.scope().variables()) {
    out[name] = std::string(static_cast<const char*>(var.value.data()), var.value.size_bytes());
  }
  return out;
}

TEST(SkippedStep, ChangesNothingButTheScale) {
  const std::map<std::string, Optimizer> optimizers = {
      {"sgd", Sgd({.lr = LearningRate::Cosine(0.1, 100)})},
      {"momentum", Momentum({.lr = LearningRate::Cosine(0.1, 100), .weight_decay = 0.1})},
      {"adam", Adam({.lr = LearningRate::Cosine(0.01, 100)})},
      {"adamw", AdamW({.lr = LearningRate::Cosine(0.01, 100), .clip = GradientClip::GlobalNorm(1)})},
      {"lamb", Lamb({.lr = LearningRate::Cosine(0.01, 100)})}};
  for (const auto& [name, optimizer] : optimizers) {
    for (const std::string level : {"O1", "O2"}) {
      ProgramBuilder b;
      const Value x = b.Feed("x", DType::kF32, {4, 8});
      const Value loss = b.Mean(b.FullyConnected(b.FullyConnected(x, 8, {.act = "relu"}), 3));
      b.Fetch(loss);
      const auto decorated = amp::Decorate(optimizer, {.init_loss_scaling = 1024, .level = level});
      ASSERT_OK(decorated->Minimize(b, loss));
      absl::StatusOr<Trainer> trainer = Trainer::Create(b.Build(), {.threads = 1});
      ASSERT_OK(trainer);
      ASSERT_OK(decorated->AmpInit({}, trainer->scope()));
      HostTensor batch = *HostTensor::Create(DType::kF32, {4, 8});
      for (int i = 0; i < 32; ++i) batch.mutable_values<float>()[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
      ASSERT_OK(trainer->Step({{"x", batch}}));
      const std::map<std::string, std::string> before = Snapshot(*trainer);
      HostTensor bad = batch;
      bad.mutable_values<float>()[5] = std::numeric_limits<float>::infinity();
      ASSERT_OK(trainer->Step({{"x", bad}}));
      std::set<std::string> changed;
      for (const auto& [var, bytes] : Snapshot(*trainer)) {
        if (before.at(var) != bytes) changed.insert(var);
      }
      EXPECT_THAT(changed, ::testing::UnorderedElementsAre("loss_scaling_0", "num_good_steps_0")) << name << " " << level;
      EXPECT_EQ(First(*trainer->scope().Get("loss_scaling_0")), 512) << name << " " << level;
      ASSERT_OK(trainer->Step({{"x", batch}}));
      EXPECT_NE(Snapshot(*trainer).at("fc_0.w_0"), before.at("fc_0.w_0")) << name << " " << level;
    }
  }
}

// An overflow of one loss skips its parameters and those that both reach, no others.
TEST(SkippedStep, OfOneLossLeavesTheOther) {
  ProgramBuilder b;
  const Value shared = b.FullyConnected(b.Feed("x", DType::kF32, {4, 8}), 8);
  const Value first = b.Mean(b.FullyConnected(shared, 3));
  const Value second = b.Mean(b.Op("elementwise_mul", {{"X", {b.FullyConnected(shared, 3)}}, {"Y", {b.Feed("z", DType::kF32, {4, 3})}}}));
  b.Fetch(first);
  const auto decorated = amp::Decorate(Momentum({.lr = 0.1}), {.init_loss_scaling = 1024, .level = "O1"});
  absl::StatusOr<std::vector<VarGradient>> gradients = decorated->Backward(b.program(), b.startup(), *first.var);
  ASSERT_OK(gradients);
  const absl::StatusOr<std::vector<VarGradient>> more = decorated->Backward(b.program(), b.startup(), *second.var);
  ASSERT_OK(more);
  gradients->insert(gradients->end(), more->begin(), more->end());
  ASSERT_OK(decorated->ApplyGradients(b.program(), b.startup(), *gradients));
  absl::StatusOr<Trainer> trainer = Trainer::Create(b.Build(), {.threads = 1});
  ASSERT_OK(trainer);
  HostTensor x = *HostTensor::Create(DType::kF32, {4, 8});
  for (int i = 0; i < 32; ++i) x.mutable_values<float>()[i] = 0.1f * static_cast<float>(i % 5);
  HostTensor z = *HostTensor::Create(DType::kF32, {4, 3});
  z.mutable_values<float>()[0] = std::numeric_limits<float>::infinity();
  const std::map<std::string, std::string> before = Snapshot(*trainer);
  ASSERT_OK(trainer->Step({{"x", x}, {"z", z}}));
  std::set<std::string> changed;
  for (const auto& [var, bytes] : Snapshot(*trainer)) {
    if (before.at(var) != bytes && absl::StartsWith(var, "fc_") && !absl::StrContains(var, "velocity")) changed.insert(var);
  }
  EXPECT_THAT(changed, ::testing::UnorderedElementsAre("fc_1.w_0", "fc_1.b_0"));
  EXPECT_EQ(First(*trainer->scope().Get("loss_scaling_0")), 1024);
  EXPECT_EQ(First(*trainer->scope().Get("loss_scaling_1")), 512);
}

}  // namespace
}  // namespace ampc
