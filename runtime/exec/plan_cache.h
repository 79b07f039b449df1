// PlanCache: the plans of one region, by what they were built for.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "runtime/exec/executor.h"

namespace ampc {

// Thread-safe. Keeps the `capacity` plans that were used last.
class PlanCache {
 public:
  using Key = std::vector<int64_t>;
  using BuildFn = absl::FunctionRef<absl::StatusOr<std::unique_ptr<const ExecutionPlan>>()>;

  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  // One thread builds, others that ask meanwhile wait for it.
  absl::StatusOr<std::shared_ptr<const Executor>> Get(const Key& key, BuildFn build);
  int size() const;
  // Of the newest plan; 0 before there is one.
  int64_t arena_bytes() const;

 private:
  using Entry = std::pair<Key, std::shared_ptr<const Executor>>;

  const size_t capacity_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // newest use first
  absl::flat_hash_map<Key, std::list<Entry>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  int64_t arena_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Appends what tells one shape, or one small value, from another.
void AppendDims(absl::Span<const int64_t> dims, PlanCache::Key* key);
void AppendBytes(const HostTensor& value, PlanCache::Key* key);

}  // namespace ampc
