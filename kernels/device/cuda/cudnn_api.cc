#include "kernels/device/cuda/cudnn_api.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda/shared_library.h"

namespace ampc {

absl::StatusOr<CudnnApi> CudnnApi::Open() {
  // Libraries that cuDNN's engines open by these names are found beside cuDNN, too; without them it has fewer engines.
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libnvrtc.so.13", "libnvrtc.so.12"}) {
    SharedLibrary::Open({name}).status().IgnoreError();
  }
  AMPC_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open({"libcudnn.so.9"}));
  CudnnApi api;
  AMPC_RETURN_IF_ERROR(library.Load("cudnnGetVersion", &api.get_version));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnGetErrorString", &api.get_error_string));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnGetLastErrorString", &api.get_last_error_string));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnCreate", &api.create));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnDestroy", &api.destroy));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnSetStream", &api.set_stream));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnBackendCreateDescriptor", &api.create_descriptor));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnBackendDestroyDescriptor", &api.destroy_descriptor));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnBackendSetAttribute", &api.set_attribute));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnBackendGetAttribute", &api.get_attribute));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnBackendFinalize", &api.finalize));
  AMPC_RETURN_IF_ERROR(library.Load("cudnnBackendExecute", &api.execute));
  return api;
}

absl::Status CudnnApi::Check(cudnnStatus_t status, absl::string_view call) const {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char why[512] = "";
  get_last_error_string(why, sizeof(why));
  const std::string text = absl::StrCat(call, ": ", get_error_string(status), *why == '\0' ? "" : " (", why, *why == '\0' ? "" : ")");
  const bool unsupported = status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;  // and its sub-categories
  return unsupported ? UnsupportedError(text) : InternalError(text);
}

CudnnDescriptor::CudnnDescriptor(const CudnnApi& api, cudnnBackendDescriptor_t descriptor)
    : api_(&api), descriptor_(descriptor, [destroy = api.destroy_descriptor](void* d) { destroy(d); }) {}

absl::StatusOr<CudnnDescriptor> CudnnDescriptor::Create(const CudnnApi& api, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  AMPC_RETURN_IF_ERROR(api.Check(api.create_descriptor(type, &descriptor), "cudnnBackendCreateDescriptor"));
  return CudnnDescriptor(api, descriptor);
}

absl::Status CudnnDescriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  return api_->Check(api_->set_attribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

absl::Status CudnnDescriptor::SetInts(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
  return Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

absl::Status CudnnDescriptor::SetDescriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  const cudnnBackendDescriptor_t descriptor = value.get();
  return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

absl::Status CudnnDescriptor::Finalize() { return api_->Check(api_->finalize(get()), "cudnnBackendFinalize"); }

absl::StatusOr<int64_t> CudnnDescriptor::Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                             void* values) const {
  int64_t n = 0;
  AMPC_RETURN_IF_ERROR(api_->Check(api_->get_attribute(get(), name, type, count, &n, values), "cudnnBackendGetAttribute"));
  return n;
}

absl::StatusOr<int64_t> CudnnDescriptor::GetInt(cudnnBackendAttributeName_t name) const {
  int64_t value = 0;
  AMPC_RETURN_IF_ERROR(Get(name, CUDNN_TYPE_INT64, 1, &value).status());
  return value;
}

}  // namespace ampc
