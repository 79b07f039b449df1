// ModelRunner: runs a program that is lowered for as much of its feeds as that takes.
//
// A program is lowered for nothing but itself; where ops of ONNX's dialect are left, once more for the shapes of the feeds, and where these
// are not enough, for the values of the feeds that steer shapes (axes, sizes, scales: short vectors of integers, shorter ones of floats).
// An op that is left even then is executed when its operands are there, or is an error, by `Left`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/mutex.h"
#include "runtime/exec/plan_cache.h"
#include "runtime/exec/program_runner.h"

namespace ampc {

// Thread-safe; keeps the lowered programs that were used last.
class ModelRunner {
 public:
  // kDeferred: ops that are left are executed one by one (deferred_op.h). kRefused, for such an op: nothing is lowered before the first
  // run, all feeds' values are known at last, and what is left even then is an error.
  enum class Left : uint8_t { kDeferred, kRefused };

  // The objects that `options` refers to must outlive the runner. Errors as ProgramRunner::Create.
  static absl::StatusOr<std::unique_ptr<ModelRunner>> Create(Program program, const RunnerOptions& options, Left left);

  // As ProgramRunner::Run, RunInto and PlanText. Further errors: exit code 2, dims that do not fit the model; 4, an op that lacks what it
  // needs.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed);
  absl::Status RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches);
  absl::StatusOr<std::string> PlanText(absl::Span<const HostTensor* const> feeds);

  // As far as it is lowered for nothing but itself.
  const Program& program() const { return unshaped_ != nullptr ? unshaped_->program() : *source_; }
  int num_plans() const;
  int64_t arena_bytes() const;  // as ProgramRunner::arena_bytes, of the program used last

 private:
  using RunnerOr = absl::StatusOr<std::shared_ptr<ProgramRunner>>;
  enum class Known : uint8_t { kShapes, kSmallValues, kValues };  // of the feeds

  ModelRunner(const RunnerOptions& options, Left left);
  static std::vector<KnownFeed> Know(Known known, absl::Span<const HostTensor* const> feeds);
  RunnerOr RunnerFor(absl::Span<const HostTensor* const> feeds);
  RunnerOr Climb(absl::Span<const HostTensor* const> feeds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RunnerOr Lower(absl::Span<const KnownFeed> feeds) const;

  const RunnerOptions options_;
  const Left left_;
  std::optional<Program> source_;            // as it came; none where nothing has to be known to lower it
  std::shared_ptr<ProgramRunner> unshaped_;  // lowered for nothing but itself; null: kRefused
  mutable Mutex mutex_;
  Known known_ ABSL_GUARDED_BY(mutex_) = Known::kShapes;  // as much as was needed so far
  PlanCache<ProgramRunner> runners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
