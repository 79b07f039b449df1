// RangePlans: the plans of one range of ops, made for what is known of its feeds, and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/mutex.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/plan_cache.h"

namespace ampc {

// Thread-safe.
class RangePlans {
 public:
  // Keeps a reference to `context`, and the `capacity` plans that were used last.
  RangePlans(const PlanContext& context, OpRange range, size_t capacity) : context_(context), range_(std::move(range)), plans_(capacity) {}

  const OpRange& range() const { return range_; }

  // `feeds` follow range().feeds. One thread makes a plan, others that ask meanwhile wait for it. Errors as BuildPlan.
  absl::StatusOr<std::shared_ptr<const Executor>> Get(absl::Span<const KnownFeed> feeds);

  int size() const;
  // Of the plan that was used last; 0 before there is one.
  int64_t arena_bytes() const;

 private:
  const PlanContext& context_;
  const OpRange range_;
  mutable Mutex mutex_;
  PlanCache<const Executor> plans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
