#include "runtime/exec/plan_cache.h"

#include <cstring>

#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<std::shared_ptr<const Executor>> PlanCache::Get(const Key& key, BuildFn build) {
  MutexLock lock(mutex_);
  if (const auto at = by_key_.find(key); at != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->second;
  }
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<const ExecutionPlan> plan, build());
  arena_bytes_ = plan->arena_bytes;
  entries_.emplace_front(key, MakeExecutor(std::move(plan)));
  by_key_[key] = entries_.begin();
  if (entries_.size() > capacity_) {
    by_key_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return entries_.front().second;
}

int PlanCache::size() const {
  MutexLock lock(mutex_);
  return static_cast<int>(entries_.size());
}

int64_t PlanCache::arena_bytes() const {
  MutexLock lock(mutex_);
  return arena_bytes_;
}

void AppendDims(absl::Span<const int64_t> dims, PlanCache::Key* key) {
  key->push_back(static_cast<int64_t>(dims.size()));
  key->insert(key->end(), dims.begin(), dims.end());
}

void AppendBytes(const HostTensor& value, PlanCache::Key* key) {
  const size_t words = (value.size_bytes() + 7) / 8;
  key->push_back(static_cast<int64_t>(words));
  key->resize(key->size() + words, 0);
  if (words > 0) std::memcpy(key->data() + key->size() - words, value.data(), value.size_bytes());
}

}  // namespace ampc
