// TrainJob: a network, its data and a Trainer: epochs of steps, a test after each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/train/data_parallel.h"
#include "runtime/train/trainer.h"
#include "tools/train/batches.h"
#include "tools/train/request.h"

namespace ampc {

struct StepRecord {
  int64_t epoch = 0, step = 0;  // from 1; `step` counts over all epochs
  double progress = 0;          // part of the epoch that is done
  double of_all = 0;            // and of all that was asked for
  double loss = 0, learning_rate = 0, seconds = 0;
  std::optional<double> scale;  // where the loss is scaled
  bool skipped = false;         // nothing was changed: a gradient or the loss is not finite
  std::string alarm;            // "" or what was not finite first, after many skipped steps in a row
};

struct EpochRecord {
  int64_t epoch = 0, step = 0;     // from 1; the last step
  double loss = 0;                 // mean over the steps whose loss is finite; the others were skipped
  std::optional<double> accuracy;  // of the test set
  std::optional<double> scale;     // at the end
  int64_t skipped = 0;             // steps of this epoch
  double seconds = 0, test_seconds = 0;
  int64_t test_rows = 0;  // of the test set, that `accuracy` is of
  bool best = false;      // so far, of tests on as many rows
};

struct TrainEvents {
  std::function<void(const StepRecord&)> step;
  std::function<void(const EpochRecord&)> epoch;
  std::function<void(const std::string&)> note;
};

class TrainJob {
 public:
  // `data` has to outlive the job, and so has `parallel`, the processes that share each batch; null for a network on random data, and for
  // one process. Errors: unknown names, options out of range (2), what Decorate and Trainer::Create refuse.
  static absl::StatusOr<std::unique_ptr<TrainJob>> Create(const TrainRequest& request, const Dataset* data,
                                                          const DataParallel* parallel = nullptr);
  ~TrainJob();

  // Exit code 1 at a step without a finite loss that a smaller scale cannot help, and where a checkpoint would hold what is not finite,
  // unless the request says to keep going. Trains to the end of what was asked for, from the newest checkpoint where the request says so.
  // Of several processes the first one tests and saves, and only its records are complete.
  absl::Status Run(const TrainEvents& events);

  Trainer& trainer();
  // A state that is not finite is an error (exit code 1) that names the first such variable; with keep_going a note.
  absl::Status CheckState(absl::string_view file, const TrainEvents& events);
  // The program that tests: reads the trainer's scope; its feeds are x and y, its last fetch but one the output.
  const Program& test_program() const;
  const std::string& output_name() const;  // of what the network computes: the logits

 private:
  struct State;
  explicit TrainJob(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One line per cast that AMP inserted into the main block: what, from which type to which, and the ops that read it.
std::vector<std::string> DescribeCasts(const Program& program);

}  // namespace ampc
