// cuDNN's backend API, opened at run time: its functions, its errors, and descriptors that own themselves.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

// Immutable after Open.
struct CudnnApi {
  decltype(&::cudnnGetVersion) get_version = nullptr;
  decltype(&::cudnnGetErrorString) get_error_string = nullptr;
  decltype(&::cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;

  // Exit code 4 where the library is not found or older than 9.
  static absl::StatusOr<CudnnApi> Open();
  // "cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED (why)"; what no engine supports is Unimplemented, all else Internal.
  absl::Status Check(cudnnStatus_t status, absl::string_view call) const;
};

// Owns a backend descriptor. `api` outlives it.
class CudnnDescriptor {
 public:
  static absl::StatusOr<CudnnDescriptor> Create(const CudnnApi& api, cudnnBackendDescriptorType_t type);

  absl::Status Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  absl::Status SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  absl::Status SetDescriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  absl::Status Finalize();
  // Up to `count` values; how many there are.
  absl::StatusOr<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, void* values) const;
  absl::StatusOr<int64_t> GetInt(cudnnBackendAttributeName_t name) const;
  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  CudnnDescriptor(const CudnnApi& api, cudnnBackendDescriptor_t descriptor);
  const CudnnApi* api_;
  std::shared_ptr<void> descriptor_;
};

}  // namespace ampc
