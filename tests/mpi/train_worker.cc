// Trainings that mpi_test starts alone and with mpirun: WHAT FOLDER.
//   train       20 steps; process 0 writes its params, each process a digest of its states
//   accumulate  the same with an update every second step
//   mixed       a network with batch_norm and dropout at O2 in fp16, an update every second step; process 1 overflows once; each process
//               writes what it saw
//   checked     the same, stopping there
//   crash       saves every step in FOLDER/checkpoints, process 1 is killed before the seventh
//   resume      says from which step it would go on
// Several processes write to FOLDER/process.RANK, one writes to standard output: mpirun mixes the lines of its processes anywhere.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "graph/builder.h"
#include "graph/layers.h"
#include "graph/training_program.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/exec/scope.h"
#include "runtime/tensor_map.h"
#include "runtime/train/data_parallel.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tests/mpi/worker_device.h"

namespace ampc {
namespace {

constexpr int64_t kBatch = 8;

absl::StatusOr<TrainingProgram> Network() {
  ProgramBuilder b("classifier", 1);
  const Value x = b.Feed("x", DType::kF32, {-1, 4});
  const Value y = b.Feed("y", DType::kI64, {-1, 1});
  const Value h = b.FullyConnected(b.FullyConnected(x, 8, {.act = "tanh"}), 3);
  const Value loss = b.Mean(b.SoftmaxWithCrossEntropy(h, y));
  b.Fetch(loss);
  AMPC_RETURN_IF_ERROR(b.status());
  AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(b.program(), *loss.var));
  Optimizer optimizer = Momentum({.lr = 0.1, .momentum = 0.9});
  AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(b.program(), b.startup(), gradients).status());
  return b.Build();
}

// The same numbers for the same step, whoever asks.
TensorMap Batch(int step) {
  std::vector<float> x;
  std::vector<int64_t> y;
  uint32_t random = 12345u + static_cast<uint32_t>(step);
  for (int64_t i = 0; i < kBatch; ++i) {
    int best = 0;
    for (int k = 0; k < 4; ++k) {
      random = random * 1664525u + 1013904223u;
      x.push_back(static_cast<float>(random >> 8) / static_cast<float>(1 << 24) - 0.5f);
      if (k < 3 && x.back() > x[x.size() - 1 - static_cast<size_t>(k) + static_cast<size_t>(best)]) best = k;
    }
    y.push_back(best);
  }
  TensorMap batch;
  batch.emplace("x", HostTensor::FromValues<float>({kBatch, 4}, x));
  batch.emplace("y", HostTensor::FromValues<int64_t>({kBatch, 1}, y));
  return batch;
}

absl::StatusOr<DataParallel> Join(const std::string& folder) {
  AMPC_ASSIGN_OR_RETURN(DataParallel job, DataParallel::FromEnvironment());
  const std::string path = absl::StrCat(folder, "/process.", job.rank());
  if (job.size() > 1 && std::freopen(path.c_str(), "w", stdout) == nullptr) return IoError(absl::StrCat("cannot write '", path, "'"));
  return job;
}

void Print(const Scope& scope, const DataParallel& job) {
  uint64_t digest = 1469598103934665603u;
  for (const auto& [name, variable] : scope.variables()) {
    const auto* bytes = static_cast<const unsigned char*>(variable.value.data());
    for (size_t i = 0; i < variable.value.size_bytes(); ++i) digest = (digest ^ bytes[i]) * 1099511628211u;
    if (!job.is_main() || variable.dtype != DType::kF32) continue;
    for (const float value : variable.value.values<float>()) std::printf("value %s %.9g\n", name.c_str(), static_cast<double>(value));
  }
  std::printf("digest %llu\n", static_cast<unsigned long long>(digest));
}

absl::Status Train(const std::string& folder, int accumulate, bool crash) {
  AMPC_ASSIGN_OR_RETURN(DataParallel job, Join(folder));
  AMPC_ASSIGN_OR_RETURN(TrainingProgram program, Network());
  AMPC_RETURN_IF_ERROR(job.Prepare(program.main));
  AMPC_ASSIGN_OR_RETURN(Trainer trainer,
                        Trainer::Create(std::move(program), {.device = testing::WorkerDevice(), .threads = 1, .accumulate = accumulate}));
  AMPC_RETURN_IF_ERROR(job.Synchronize(trainer.scope()));
  for (int step = 0; step < 20; ++step) {
    if (crash && step == 6 && job.rank() == 1) std::raise(SIGKILL);
    AMPC_ASSIGN_OR_RETURN(const TensorMap share, job.Share(Batch(step)));
    AMPC_RETURN_IF_ERROR(trainer.Step(share).status());
    if (crash && job.is_main()) AMPC_RETURN_IF_ERROR(trainer.Save(absl::StrCat(folder, "/checkpoints")));
  }
  Print(trainer.scope(), job);
  return job.Finish();
}

// The loss of a row counts `weight` times.
absl::StatusOr<TrainingProgram> MixedNetwork() {
  ProgramBuilder b("mixed", 1);
  const Value x = b.Feed("x", DType::kF32, {-1, 1, 2, 2});
  const Value y = b.Feed("y", DType::kI64, {-1, 1});
  const Value weight = b.Feed("weight", DType::kF32, {-1, 1});
  const Value n = b.BatchNorm(b.Conv2D(x, {.filters = 4, .kernel = 1, .bias = false}), {.act = "relu"});
  const Value each = b.SoftmaxWithCrossEntropy(b.FullyConnected(layers::Dropout(b, n, {.prob = 0.25f}), 3), y);
  const Value loss = b.Mean(b.Op("elementwise_mul", {{"X", {each}}, {"Y", {weight}}}));
  b.Fetch(loss);
  AMPC_RETURN_IF_ERROR(b.status());
  const auto optimizer =
      amp::Decorate(Momentum({.lr = 0.1, .momentum = 0.9}),
                    {.init_loss_scaling = 1024, .use_dynamic_loss_scaling = true, .use_fp16_guard = false, .level = "O2"});
  AMPC_RETURN_IF_ERROR(optimizer->Minimize(b, loss));
  return b.Build();
}

// Batch(step) as 2x2 images. The rows of process 1 weigh so much that their gradients overflow fp16, when asked for.
TensorMap MixedBatch(int step, bool overflow) {
  TensorMap flat = Batch(step);
  const auto x = flat.at("x").values<float>();
  std::vector<float> weights(kBatch, 1.0f);
  if (overflow) std::fill(weights.begin() + kBatch / 2, weights.end(), 1e30f);
  TensorMap batch;
  batch.emplace("x", HostTensor::FromValues<float>({kBatch, 1, 2, 2}, x));
  batch.emplace("y", flat.at("y"));
  batch.emplace("weight", HostTensor::FromValues<float>({kBatch, 1}, weights));
  return batch;
}

absl::Status Mixed(const std::string& folder, bool check_nan_inf) {
  AMPC_ASSIGN_OR_RETURN(DataParallel job, Join(folder));
  AMPC_ASSIGN_OR_RETURN(TrainingProgram program, MixedNetwork());
  AMPC_RETURN_IF_ERROR(job.Prepare(program.main));
  TrainerOptions options{.threads = 1, .accumulate = 2, .check_nan_inf = check_nan_inf, .alarm_after = 1};
  options.device = testing::WorkerDevice();
  options.log = [](const StepReport& report) {
    if (!report.alarm.empty()) std::printf("alarm %s\n", report.alarm.c_str());
  };
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(std::move(program), options));
  AMPC_RETURN_IF_ERROR(job.Synchronize(trainer.scope()));
  HostTensor weight;
  for (int step = 0; step < 12; ++step) {
    AMPC_ASSIGN_OR_RETURN(const TensorMap share, job.Share(MixedBatch(step, step == 4)));
    AMPC_RETURN_IF_ERROR(trainer.Step(share).status());
    const HostTensor& now = trainer.scope().Find("fc_0.w_0")->value;
    const bool moved = step > 0 && std::memcmp(now.data(), weight.data(), now.size_bytes()) != 0;
    const ScalerReport& scaler = trainer.scalers()[0];
    std::printf("step %d moved %d scale %g skipped %lld\n", step, moved ? 1 : 0, scaler.scale, static_cast<long long>(scaler.skipped));
    weight = now;
  }
  Print(trainer.scope(), job);
  return job.Finish();
}

absl::Status Resume(const std::string& folder) {
  AMPC_ASSIGN_OR_RETURN(TrainingProgram program, Network());
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(std::move(program), {.threads = 1}));
  AMPC_ASSIGN_OR_RETURN(const RestoredCheckpoint restored, trainer.Restore(absl::StrCat(folder, "/checkpoints")));
  std::printf("steps %lld\n", static_cast<long long>(restored.steps));
  return absl::OkStatus();
}

absl::Status Main(const std::string& what, const std::string& folder) {
  if (what == "resume") return Resume(folder);
  if (what == "mixed" || what == "checked") return Mixed(folder, what == "checked");
  return Train(folder, what == "accumulate" ? 2 : 1, what == "crash");
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  const absl::Status status = ampc::Main(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return static_cast<int>(ampc::ExitCodeOf(status));
}
