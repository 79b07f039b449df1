// MatmulPlanCache: plans of products by what they compute, so that a library searches once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "kernels/device/matmul_library.h"

namespace ampc {

// Thread-safe. Holds at most `capacity` plans: then it starts anew, and plans in use live on.
class MatmulPlanCache {
 public:
  using Plan = std::shared_ptr<const MatmulPlan>;
  explicit MatmulPlanCache(size_t capacity = 4096) : capacity_(capacity) {}

  // The plan that `make` gave for this desc and limit before, or gives now; a failure is not kept. `make` runs without a lock, in two
  // threads at the same time perhaps: then both get the plan of the first that is done.
  absl::StatusOr<Plan> Find(const MatmulDesc& desc, int64_t workspace_limit, const std::function<absl::StatusOr<Plan>()>& make);

 private:
  struct Key {
    MatmulDesc desc;
    int64_t limit = 0;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      const MatmulDesc& d = key.desc;
      return H::combine(std::move(h), d.transpose_a, d.transpose_b, d.m, d.n, d.k, d.lda, d.ldb, d.ldd, d.batch, d.stride_a, d.stride_b,
                        d.stride_d, d.type_ab, d.type_d, d.tf32, d.alpha, d.beta, d.epilogue, d.aux_ld, d.alignment, key.limit);
    }
  };
  const size_t capacity_;
  Mutex mutex_;
  absl::flat_hash_map<Key, Plan> plans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
