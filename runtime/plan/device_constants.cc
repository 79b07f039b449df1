#include "runtime/plan/device_constants.h"

#include "graph/base/status_macros.h"
#include "kernels/storage.h"

namespace ampc {

absl::Status UploadDeclared(const HostTensor& value, DType declared, void* to, Stream& stream) {
  HostTensor narrow;
  if (IsLowPrecision(declared)) {
    AMPC_ASSIGN_OR_RETURN(narrow, FromStorage(value, declared));
  }
  const HostTensor& from = IsLowPrecision(declared) ? narrow : value;
  AMPC_RETURN_IF_ERROR(stream.CopyToDevice(to, from.data(), static_cast<int64_t>(from.size_bytes())));
  return stream.Synchronize();
}

absl::Status DownloadDeclared(const void* from, DType declared, HostTensor& to, Stream& stream) {
  HostTensor narrow;
  if (IsLowPrecision(declared)) {
    AMPC_ASSIGN_OR_RETURN(narrow, HostTensor::CreateUninitialized(declared, to.dims()));
  }
  HostTensor& low = IsLowPrecision(declared) ? narrow : to;
  AMPC_RETURN_IF_ERROR(stream.CopyToHost(low.mutable_data(), from, static_cast<int64_t>(low.size_bytes())));
  AMPC_RETURN_IF_ERROR(stream.Synchronize());
  if (IsLowPrecision(declared)) Widen(narrow, to.mutable_values<float>().data());
  return absl::OkStatus();
}

void DeviceConstants::AddLasting(const HostTensor* value) {
  const MutexLock lock(mutex_);
  lasting_.insert(value);
}

absl::StatusOr<DeviceConstants::Buffer> DeviceConstants::Upload(const HostTensor& value, DType declared, absl::string_view what) {
  if (stream_ == nullptr) {
    AMPC_ASSIGN_OR_RETURN(stream_, device_->NewStream());
  }
  const int64_t bytes = value.num_elements() * static_cast<int64_t>(SizeOf(declared));
  AMPC_ASSIGN_OR_RETURN(DeviceBuffer buffer, device_->allocator().Allocate(bytes, *stream_, what));
  AMPC_RETURN_IF_ERROR(UploadDeclared(value, declared, buffer.data(), *stream_));
  return std::make_shared<const DeviceBuffer>(std::move(buffer));
}

absl::StatusOr<DeviceConstants::Buffer> DeviceConstants::Get(const HostTensor& value, DType declared, absl::string_view what) {
  const MutexLock lock(mutex_);
  if (!lasting_.contains(&value)) return Upload(value, declared, what);
  Buffer& slot = uploaded_[{&value, declared}];
  if (slot == nullptr) {
    AMPC_ASSIGN_OR_RETURN(slot, Upload(value, declared, what));
  }
  return slot;
}

}  // namespace ampc
