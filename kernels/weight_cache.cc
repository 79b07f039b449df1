#include "kernels/weight_cache.h"

#include "graph/base/status_macros.h"

namespace ampc {

void WeightCache::AddLasting(const HostTensor* value) {
  MutexLock lock(mutex_);
  lasting_[value] = true;
}

absl::StatusOr<WeightCache::Packed> WeightCache::Get(const HostTensor* value, std::string format, PackFn pack) {
  const std::pair<const HostTensor*, std::string> key(value, std::move(format));
  bool lasting;
  {
    MutexLock lock(mutex_);
    lasting = lasting_.contains(value);
    if (const auto at = packed_.find(key); at != packed_.end()) return at->second;
  }
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, pack());
  Packed packed = std::make_shared<const HostTensor>(std::move(tensor));
  if (!lasting) return packed;
  MutexLock lock(mutex_);
  return packed_.emplace(key, std::move(packed)).first->second;
}

absl::StatusOr<WeightCache::Packed> GetPacked(WeightCache* cache, const HostTensor* value, std::string format, WeightCache::PackFn pack) {
  if (cache != nullptr) return cache->Get(value, std::move(format), pack);
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, pack());
  return std::make_shared<const HostTensor>(std::move(tensor));
}

}  // namespace ampc
