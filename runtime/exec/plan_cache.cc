#include "runtime/exec/plan_cache.h"

#include <cstring>

namespace ampc {

PlanKey KeyOf(absl::Span<const KnownFeed> feeds) {
  PlanKey key;
  for (const KnownFeed& feed : feeds) {
    key.push_back(static_cast<int64_t>(feed.dims.size()));
    key.insert(key.end(), feed.dims.begin(), feed.dims.end());
    const size_t bytes = feed.value == nullptr ? 0 : feed.value->size_bytes();
    key.push_back(feed.value == nullptr ? -1 : static_cast<int64_t>(bytes));
    const size_t at = key.size();
    key.resize(at + (bytes + 7) / 8, 0);
    if (bytes > 0) std::memcpy(key.data() + at, feed.value->data(), bytes);
  }
  return key;
}

}  // namespace ampc
