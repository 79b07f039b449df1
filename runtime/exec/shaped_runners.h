// ShapedRunners: runners of one program for feeds of given shapes, for programs that can only be lowered once these are known. Where shapes are
// not enough, the values of the feeds that steer shapes (axes, sizes, scales: short vectors of integers, shorter ones of floats) are known, too.
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
  // What `options` refers to must outlive it.
  ShapedRunners(Program program, const RunnerOptions& options) : program_(std::move(program)), options_(options) {}

  // The runner of the program for feeds like `feeds`, which follow program().feeds. Errors: exit code 2, dims that do not fit the
  // model; 4, an op that still lacks a shape it needs.
  absl::StatusOr<std::shared_ptr<ProgramRunner>> Get(absl::Span<const HostTensor* const> feeds);
  int num_plans() const;
  int64_t arena_bytes() const;  // of the newest

 private:
  using Key = std::vector<int64_t>;
  absl::StatusOr<std::shared_ptr<ProgramRunner>> Make(absl::Span<const HostTensor* const> feeds, bool by_value) const;

  const Program program_;
  const RunnerOptions options_;
  mutable Mutex mutex_;
  bool by_value_ ABSL_GUARDED_BY(mutex_) = false;  // shapes were not enough
  std::list<std::pair<Key, std::shared_ptr<ProgramRunner>>> runners_ ABSL_GUARDED_BY(mutex_);  // newest use first
};

}  // namespace ampc
