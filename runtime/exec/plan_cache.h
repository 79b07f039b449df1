// PlanCache: what was made for feeds, by the dims of all of them and the values of those whose values are known.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "runtime/plan/specialize.h"

namespace ampc {

using PlanKey = std::vector<int64_t>;

// Equal where the dims, which values are known, and these values are.
PlanKey KeyOf(absl::Span<const KnownFeed> feeds);

// Keeps the `capacity` entries that were used last. Not thread-safe.
template <typename T>
class PlanCache {
 public:
  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  // Null where there is none.
  std::shared_ptr<T> Find(const PlanKey& key) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->second;
  }

  // `key` is not there yet.
  void Insert(PlanKey key, std::shared_ptr<T> value) {
    entries_.emplace_front(std::move(key), std::move(value));
    by_key_[entries_.front().first] = entries_.begin();
    if (entries_.size() <= capacity_) return;
    by_key_.erase(entries_.back().first);
    entries_.pop_back();
  }

  void Clear() {
    by_key_.clear();
    entries_.clear();
  }

  using Entry = std::pair<PlanKey, std::shared_ptr<T>>;
  const std::list<Entry>& newest_first() const { return entries_; }

 private:
  const size_t capacity_;
  std::list<Entry> entries_;  // newest use first
  absl::flat_hash_map<PlanKey, typename std::list<Entry>::iterator> by_key_;
};

}  // namespace ampc
