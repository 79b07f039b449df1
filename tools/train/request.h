// The request to `ampc train`, and the optimizer that it asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "passes/train/optimizer.h"
#include "tools/examples/networks/networks.h"

namespace ampc {

struct TrainRequest {
  std::string network = "guarded";
  std::string level = "O0";
  DType dtype = DType::kF16;
  bool guard = true;                 // O2: only what stands in an fp16_guard
  std::optional<double> init_scale;  // absent: Decorate's
  std::string optimizer;             // "": the network's
  std::optional<double> learning_rate, momentum, weight_decay;
  std::string schedule;  // LearningRate::Parse; "": constant
  std::string clip;      // value:LOW,HIGH, norm:N, global-norm:N; "": none
  int batch = 0;         // 0: the network's
  int64_t epochs = 1;
  int64_t steps = 0;  // 0: whole epochs; else the number of steps, over as many epochs as that takes
  uint64_t seed = 0;  // of the initial values and the order of the data
  int accumulate = 1;
  std::string device = "cpu";
  int threads = 0;
  std::string data;  // "": Fashion-MNIST
  std::string checkpoint;
  int64_t checkpoint_every = 0;  // steps; 0: at the end of each epoch
  bool resume = false;
  bool test = true;          // after each epoch
  int64_t test_batches = 0;  // of a test; 0: all of the test set, but after an epoch that `steps` ended no more rows than it trained on
  bool check_nan_inf = false;
  bool keep_going = false;  // after steps without a finite loss
};

// The names that --optimizer knows.
absl::StatusOr<Optimizer> MakeOptimizer(const TrainRequest& request, const NetworkInfo& network);
// Usage errors name the form that is needed.
absl::StatusOr<GradientClip> ParseClip(const std::string& text);

}  // namespace ampc
