#include "kernels/device/matmul_plan_cache.h"

#include <utility>

#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<MatmulPlanCache::Plan> MatmulPlanCache::Find(const MatmulDesc& desc, int64_t workspace_limit,
                                                            const std::function<absl::StatusOr<Plan>()>& make) {
  const Key key{desc, workspace_limit};
  {
    const MutexLock lock(mutex_);
    if (const auto at = plans_.find(key); at != plans_.end()) return at->second;
  }
  AMPC_ASSIGN_OR_RETURN(Plan plan, make());
  const MutexLock lock(mutex_);
  if (plans_.size() >= capacity_) plans_.clear();
  return plans_.try_emplace(key, std::move(plan)).first->second;
}

}  // namespace ampc
