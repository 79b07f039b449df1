// WeightCache: constant operands as kernels have packed them, shared by the plans of a session.
#pragma once

#include <functional>
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
  using PackFn = absl::FunctionRef<absl::StatusOr<Packed>()>;

  using ReadFn = std::function<absl::StatusOr<std::shared_ptr<const HostTensor>>()>;

  // Declares that `value` stays unchanged for the life of the cache; only such values are kept packed. `read` gives it to those who read it
  // later; null: it is there all the time.
  void AddLasting(const HostTensor* value, ReadFn read = nullptr);
  // Whether Read gives the value: it was declared.
  bool CanRead(const HostTensor* value) const;
  // A declared value, for as long as the result is held.
  absl::StatusOr<std::shared_ptr<const HostTensor>> Read(const HostTensor* value) const;
  // The result of `pack` for (`value`, `format`): kept from an earlier call, or made now. `pack` may run twice when two threads ask at
  // once.
  absl::StatusOr<Packed> Get(const HostTensor* value, std::string format, PackFn pack);

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<const HostTensor*, ReadFn> lasting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::pair<const HostTensor*, std::string>, Packed> packed_ ABSL_GUARDED_BY(mutex_);
};

// cache->Get, or without a cache what `pack` makes.
absl::StatusOr<WeightCache::Packed> GetPacked(WeightCache* cache, const HostTensor* value, std::string format, WeightCache::PackFn pack);

}  // namespace ampc
