// 30 steps of training in fp32 as the real Paddle 2.6.2 trained: the network of the fp16_guard documentation, random batches, three
// optimizers. Its own training programs run, and its forward program with our gradients and our optimizers.
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "graph/base/json_reader.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/npz.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/train/trainer.h"
#include "tests/testlib/status.h"
#include "tests/trainer/text_trainer.h"

namespace ampc::testing {
namespace {

constexpr char kData[] = "tests/golden/paddle_numerics/";
constexpr char kLoss[] = "mean_0.tmp_0";

// The results of Paddle, by the name of the trace.
std::vector<float> Losses(const std::string& name) {
  std::ifstream file(absl::StrCat(kData, "training.json"));
  std::stringstream text;
  text << file.rdbuf();
  std::vector<float> out;
  const absl::StatusOr<JsonValue> json = ParseJson(text.str());
  if (!json.ok()) return out;
  for (const JsonValue& trace : json->Find("traces")->items) {
    if (trace.Find("name")->text != absl::StrCat("train_", name)) continue;
    for (const JsonValue& v : trace.Find("losses")->items)
      out.push_back(std::bit_cast<float>(static_cast<uint32_t>(std::stoul(v.text, nullptr, 16))));
  }
  return out;
}

HostTensor Batch(const HostTensor& all, int64_t i) {
  const std::vector<int64_t> dims(all.dims().begin() + 1, all.dims().end());
  const size_t bytes = all.size_bytes() / static_cast<size_t>(all.dims()[0]);
  HostTensor out = *HostTensor::Create(all.dtype(), dims);
  std::memcpy(out.mutable_data(), static_cast<const char*>(all.data()) + static_cast<size_t>(i) * bytes, bytes);
  return out;
}

absl::StatusOr<TrainingProgram> PaddlesProgram(const std::string& name) {
  LoadOptions only;
  only.program_only = true;
  AMPC_ASSIGN_OR_RETURN(Program main, LoadModel(absl::StrCat(kData, "train_", name, ".train.pdmodel"), only));
  AMPC_ASSIGN_OR_RETURN(Program startup, LoadModel(absl::StrCat(kData, "train_", name, ".startup.pdmodel"), only));
  return TrainingProgram{std::move(main), std::move(startup)};
}

absl::StatusOr<TrainingProgram> OwnProgram(const std::string& name, const std::map<std::string, HostTensor>& initial) {
  LoadOptions only;
  only.program_only = true;
  AMPC_ASSIGN_OR_RETURN(Program main, LoadModel(absl::StrCat(kData, "train.forward.pdmodel"), only));
  Program startup("startup");
  SetWeights(main, initial);
  AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(main, *main.main().FindVar(kLoss)));
  CommonOptimizerOptions options;
  options.lr = name == "adam" ? 0.001 : 0.01;
  AMPC_ASSIGN_OR_RETURN(Optimizer optimizer, OptimizerFromName(name, options));
  AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(main, startup, gradients).status());
  return TrainingProgram{std::move(main), std::move(startup)};
}

class TrainingTrace : public ::testing::TestWithParam<const char*> {
 protected:
  void Follow(absl::StatusOr<TrainingProgram> program) {
    ASSERT_OK_AND_ASSIGN(const auto initial, ReadNpz(absl::StrCat(kData, "train_init.npz")));
    ASSERT_OK_AND_ASSIGN(const auto batches, ReadNpz(absl::StrCat(kData, "train_batches.npz")));
    const std::vector<float> want = Losses(GetParam());
    ASSERT_EQ(want.size(), 30u);
    ASSERT_OK(program);
    program->main.fetches = {program->main.main().FindVar(kLoss)};
    ASSERT_OK_AND_ASSIGN(Trainer trainer, Trainer::Create(std::move(program), {.threads = 2}));
    for (const auto& [name, value] : initial) ASSERT_OK(trainer.scope().Set(name, value));
    for (int64_t i = 0; i < 30; ++i) {
      ASSERT_OK_AND_ASSIGN(const TensorMap out, trainer.Step({{"X", Batch(batches.at("X"), i)}, {"Y", Batch(batches.at("Y"), i)}}));
      const float loss = out.at(kLoss).values<float>()[0];
      ASSERT_LE(std::abs(loss - want[i]), 1e-4 * want[i]) << "step " << i << ": " << loss << " for " << want[i];
    }
  }
};

TEST_P(TrainingTrace, PaddlesProgramFollows) { Follow(PaddlesProgram(GetParam())); }

TEST_P(TrainingTrace, OwnGradientsAndOptimizerFollow) {
  ASSERT_OK_AND_ASSIGN(const auto initial, ReadNpz(absl::StrCat(kData, "train_init.npz")));
  Follow(OwnProgram(GetParam(), initial));
}

INSTANTIATE_TEST_SUITE_P(Paddle, TrainingTrace, ::testing::Values("sgd", "momentum", "adam"),
                         [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace ampc::testing
