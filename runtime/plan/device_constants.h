// DeviceConstants: constant values in a device's memory, shared by the plans of a session.
#pragma once

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/host_tensor.h"
#include "graph/base/mutex.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"

namespace ampc {

// The bytes of `value`, which is in storage type, in its declared type. Waits for the copy, so `value` may go afterwards.
absl::Status UploadDeclared(const HostTensor& value, DType declared, void* to, Stream& stream);
// The other way; `to` is in storage type and has the value's dims. Waits.
absl::Status DownloadDeclared(const void* from, DType declared, HostTensor& to, Stream& stream);

// Thread-safe.
class DeviceConstants {
 public:
  using Buffer = std::shared_ptr<const DeviceBuffer>;

  explicit DeviceConstants(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Declares that `value` stays alive and unchanged for the life of this object; only such values are shared.
  void AddLasting(const HostTensor* value);
  // `value`, which is in storage type, in the device's memory as `declared`: from an earlier call, or uploaded now. ResourceExhausted
  // names `what`.
  absl::StatusOr<Buffer> Get(const HostTensor& value, DType declared, absl::string_view what);

 private:
  absl::StatusOr<Buffer> Upload(const HostTensor& value, DType declared, absl::string_view what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Device> device_;
  Mutex mutex_;
  std::unique_ptr<Stream> stream_ ABSL_GUARDED_BY(mutex_);  // of the uploads; made at the first
  absl::flat_hash_set<const HostTensor*> lasting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::pair<const HostTensor*, DType>, Buffer> uploaded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ampc
