// HalfConstant: a weight that lies in memory in 16 bits, and as float32 only while somebody reads it so.
#pragma once

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "graph/base/mutex.h"

namespace ampc {

// Thread-safe.
class HalfConstant : public std::enable_shared_from_this<HalfConstant> {
 public:
  explicit HalfConstant(std::shared_ptr<const HostTensor> half) : half_(std::move(half)) {}
  // As float32; it has this address in every call, and elements while a result of one lives.
  absl::StatusOr<std::shared_ptr<const HostTensor>> Widened();
  const HostTensor* widened_address() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return &wide_; }

 private:
  void Drop();

  const std::shared_ptr<const HostTensor> half_;
  Mutex mutex_;
  int readers_ ABSL_GUARDED_BY(mutex_) = 0;
  HostTensor wide_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
