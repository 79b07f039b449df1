// WeightCache: constant operands as kernels have packed them, shared by the plans of a session.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "graph/base/mutex.h"

namespace ampc {

// Thread-safe.
class WeightCache {
 public:
  using Packed = std::shared_ptr<const HostTensor>;
  using PackFn = absl::FunctionRef<absl::StatusOr<HostTensor>()>;

  // Declares that `value` stays alive and unchanged for the life of the cache; only such values are kept packed.
  void AddLasting(const HostTensor* value);
  // The result of `pack` for (`value`, `format`): kept from an earlier call, or made now. `pack` may run twice when two threads ask at
  // once.
  absl::StatusOr<Packed> Get(const HostTensor* value, std::string format, PackFn pack);

 private:
  Mutex mutex_;
  absl::flat_hash_map<const HostTensor*, bool> lasting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::pair<const HostTensor*, std::string>, Packed> packed_ ABSL_GUARDED_BY(mutex_);
};

// cache->Get, or without a cache what `pack` makes.
absl::StatusOr<WeightCache::Packed> GetPacked(WeightCache* cache, const HostTensor* value, std::string format, WeightCache::PackFn pack);

}  // namespace ampc
