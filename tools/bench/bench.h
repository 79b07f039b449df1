// Bench: how long runs of a model, or steps of training, take.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "tools/bench/profile.h"
#include "tools/cli/stages.h"

namespace ampc {

struct BenchRequest {
  std::string model;  // a file, or one of BenchNetworks
  std::string params;
  std::vector<std::string> inputs;  // feeds of a file's model; else random values
  std::vector<std::string> dims;    // NAME=1,3,48,320: of a feed; a name that comes again begins another line (tools/bench/feeds.h)
  std::vector<int64_t> batches = {1};
  std::vector<std::string> levels = {"O0"};  // networks; a file runs as it is
  DType dtype = DType::kF16;
  bool train = false;  // networks only
  std::string optimizer = "momentum";
  int accumulate = 1;
  std::string device = "cpu";
  int threads = 0;
  bool strict_rounding = false;
  std::string tune_plans;                // of a file: SessionOptions::tune_plans
  bool in_place = true;                  // results may take the memory of operands
  double seconds = 1;                    // of timed runs for each line, at least
  bool profile = false;                  // not of training
  StageCallback stage;                   // loading, first run, timing
  std::function<absl::Status()> loaded;  // or null: of a file, after all is read and before anything is timed; an error ends it there
};

struct BenchLine {
  std::string level;  // "" for a file
  int64_t batch = 0;
  int64_t runs = 0;  // timed; of training on a device each is the mean of ten updates without a wait in between
  std::map<std::string, std::vector<int64_t>> dims;  // of the feeds
  double load_seconds = 0;                     // of the session that all lines of a model share; of a network to build and convert it, too
  double first_run_seconds = 0;                // with these dims, for which it plans
  double best = 0, p50 = 0, p90 = 0, p99 = 0;  // seconds
  double best_cpu = 0;                         // seconds of the processor, of all threads
  double items_per_second = 0;                 // batch over the median
  int64_t arena_bytes = 0;                     // temporaries of the plan
  int64_t peak_bytes = 0;                      // of the process so far, weights and libraries included; 0 where the system does not say
  double loss = 0;                             // training: of the last step that was fetched
  std::optional<Profile> profile;
};

// One line per level and batch, given to `line` as soon as it is measured. Errors as Session and Trainer; usage errors for what does not
// fit together.
absl::Status RunBench(const BenchRequest& request, const std::function<void(const BenchLine&)>& line);

}  // namespace ampc
