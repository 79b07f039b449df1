// Bench: how long runs of a model, or steps of training, take.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"

namespace ampc {

struct BenchRequest {
  std::string model;  // a file, or one of BenchNetworks
  std::string params;
  std::vector<std::string> inputs;          // feeds of a file's model; else random values
  std::vector<std::string> dims;            // NAME=1,3,48,320: of a feed; unknown dims of others: the first is the batch
  std::vector<int64_t> batches = {1};
  std::vector<std::string> levels = {"O0"};  // networks; a file runs as it is
  DType dtype = DType::kF16;
  bool train = false;                       // networks only
  std::string optimizer = "momentum";
  int accumulate = 1;
  std::string device = "cpu";
  int threads = 0;
  bool strict_rounding = false;
  bool tf32 = false;
  double seconds = 1;                       // of timed runs for each line, at least
};

struct BenchLine {
  std::string level;  // "" for a file
  int64_t batch = 0;
  int64_t runs = 0;             // timed; of training on a device each is the mean of ten updates without a wait in between
  double prepare_seconds = 0;   // load, convert, and the first run, which plans
  double best = 0, p50 = 0, p90 = 0, p99 = 0;  // seconds
  double items_per_second = 0;  // batch over the median
  int64_t arena_bytes = 0;      // temporaries of the plan
  int64_t peak_bytes = 0;       // of the process so far, weights and libraries included
  double loss = 0;              // training: of the last step that was fetched
};

// One line per level and batch, given to `line` as soon as it is measured. Errors as Session and Trainer; usage errors for what does not
// fit together.
absl::Status RunBench(const BenchRequest& request, const std::function<void(const BenchLine&)>& line);

}  // namespace ampc
