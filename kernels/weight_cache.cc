#include "kernels/weight_cache.h"

#include "graph/base/status_macros.h"

namespace ampc {

void WeightCache::AddLasting(const HostTensor* value, ReadFn read) {
  MutexLock lock(mutex_);
  lasting_[value] = std::move(read);
}

bool WeightCache::CanRead(const HostTensor* value) const {
  MutexLock lock(mutex_);
  return lasting_.contains(value);
}

absl::StatusOr<std::shared_ptr<const HostTensor>> WeightCache::Read(const HostTensor* value) const {
  ReadFn read;
  {
    MutexLock lock(mutex_);
    if (const auto at = lasting_.find(value); at != lasting_.end()) read = at->second;
  }
  return read != nullptr ? read() : std::shared_ptr<const HostTensor>(std::shared_ptr<const HostTensor>(), value);
}

absl::StatusOr<WeightCache::Packed> WeightCache::Get(const HostTensor* value, std::string format, PackFn pack) {
  const std::pair<const HostTensor*, std::string> key(value, std::move(format));
  bool lasting;
  {
    MutexLock lock(mutex_);
    lasting = lasting_.contains(value);
    if (const auto at = packed_.find(key); at != packed_.end()) return at->second;
  }
  AMPC_ASSIGN_OR_RETURN(Packed packed, pack());
  if (!lasting) return packed;
  MutexLock lock(mutex_);
  return packed_.emplace(key, std::move(packed)).first->second;
}

absl::StatusOr<WeightCache::Packed> GetPacked(WeightCache* cache, const HostTensor* value, std::string format, WeightCache::PackFn pack) {
  return cache != nullptr ? cache->Get(value, std::move(format), pack) : pack();
}

}  // namespace ampc
