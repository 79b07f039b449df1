// A training that mpi_test starts alone and with mpirun. `train`: 20 steps; process 0 writes its params to standard output, each process
// a digest. `crash DIR`: saves every step, process 1 is killed before the seventh. `resume DIR`: says from which step it would go on.
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "graph/builder.h"
#include "graph/training_program.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/exec/scope.h"
#include "runtime/tensor_map.h"
#include "runtime/train/data_parallel.h"
#include "runtime/train/trainer.h"

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

absl::Status Train(const std::string& directory) {
  AMPC_ASSIGN_OR_RETURN(DataParallel job, DataParallel::FromEnvironment());
  AMPC_ASSIGN_OR_RETURN(TrainingProgram program, Network());
  AMPC_RETURN_IF_ERROR(job.Prepare(program.main));
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(std::move(program), {.threads = 1}));
  AMPC_RETURN_IF_ERROR(job.Synchronize(trainer.scope()));
  for (int step = 0; step < 20; ++step) {
    if (!directory.empty() && step == 6 && job.rank() == 1) std::raise(SIGKILL);
    AMPC_ASSIGN_OR_RETURN(const TensorMap share, job.Share(Batch(step)));
    AMPC_RETURN_IF_ERROR(trainer.Step(share).status());
    if (!directory.empty() && job.is_main()) AMPC_RETURN_IF_ERROR(trainer.Save(directory));
  }
  Print(trainer.scope(), job);
  return job.Finish();
}

absl::Status Resume(const std::string& directory) {
  AMPC_ASSIGN_OR_RETURN(TrainingProgram program, Network());
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(std::move(program), {.threads = 1}));
  AMPC_ASSIGN_OR_RETURN(const RestoredCheckpoint restored, trainer.Restore(directory));
  std::printf("steps %lld\n", static_cast<long long>(restored.steps));
  return absl::OkStatus();
}

absl::Status Main(const std::string& what, const std::string& directory) {
  if (what == "train") return Train("");
  if (what == "crash") return Train(directory);
  return Resume(directory);
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  const absl::Status status = ampc::Main(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return static_cast<int>(ampc::ExitCodeOf(status));
}
