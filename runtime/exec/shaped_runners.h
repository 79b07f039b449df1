// ShapedRunners: runners of one program for feeds of given shapes, for programs that can only be lowered once these are known. Where shapes
// are not enough, the values of the feeds that steer shapes (axes, sizes, scales: short vectors of integers, shorter ones of floats) are
// known, too. What even that leaves is for the runner to execute when its operands are there, or an error, by `Left`.
#pragma once

#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/mutex.h"
#include "runtime/exec/program_runner.h"

namespace ampc {

// Thread-safe; keeps the runners that were used last.
class ShapedRunners {
 public:
  // Ops that are not lowered with the shapes of the feeds and the values of those that steer: executed by deferred_op.h; or the values of
  // all feeds are known, and what is still left is an error.
  enum class Left : uint8_t { kDeferred, kRefused };

  // What `options` refers to must outlive it.
  ShapedRunners(Program program, const RunnerOptions& options, Left left) : program_(std::move(program)), options_(options), left_(left) {}

  // The runner of the program for feeds like `feeds`, which follow program().feeds. Errors: exit code 2, dims that do not fit the
  // model; 4, an op that still lacks what it needs.
  absl::StatusOr<std::shared_ptr<ProgramRunner>> Get(absl::Span<const HostTensor* const> feeds);
  int num_plans() const;
  int64_t arena_bytes() const;  // of the newest

 private:
  using Key = std::vector<int64_t>;
  enum class Known : uint8_t { kShapes, kSteering, kValues };  // of the feeds
  static bool Knows(Known known, const HostTensor& feed);      // its value
  static void AppendValues(Known known, absl::Span<const HostTensor* const> feeds, Key* key);
  static void FixValues(Known known, absl::Span<const HostTensor* const> feeds, Program& program);
  absl::StatusOr<std::shared_ptr<ProgramRunner>> Make(absl::Span<const HostTensor* const> feeds, Known known) const;

  const Program program_;
  const RunnerOptions options_;
  const Left left_;
  mutable Mutex mutex_;
  Known known_ ABSL_GUARDED_BY(mutex_) = Known::kShapes;                                       // as much as was needed so far
  std::list<std::pair<Key, std::shared_ptr<ProgramRunner>>> runners_ ABSL_GUARDED_BY(mutex_);  // newest use first
};

}  // namespace ampc
