// In place of cuDNN's backend: one engine that plans every operation graph and computes nothing.
#include <cudnn_graph.h>

#include <cstring>
#include <functional>

extern "C" int AmpcShimCall(const char* function);
extern "C" void AmpcShimConvolution();
extern "C" void AmpcShimLive(const char* kind, int change);

#define SHIM(function) \
  if (const int code = AmpcShimCall(function); code != 0) return static_cast<cudnnStatus_t>(code);

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "an error of the shim"; }
void cudnnGetLastErrorString(char* text, size_t size) {
  if (size > 0) *text = '\0';
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  SHIM("cudnnCreate")
  *handle = reinterpret_cast<cudnnHandle_t>(handle);
  AmpcShimLive("cuDNN handles", 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) {
  AmpcShimLive("cuDNN handles", -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
  SHIM("cudnnSetStream")
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t* descriptor) {
  SHIM("cudnnBackendCreateDescriptor")
  *descriptor = new char;
  AmpcShimLive("cuDNN descriptors", 1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<char*>(descriptor);
  AmpcShimLive("cuDNN descriptors", -1);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t,
                                       const void*) {
  SHIM("cudnnBackendSetAttribute")
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t count, int64_t* found, void* values) {
  SHIM("cudnnBackendGetAttribute")
  *found = name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE ? 0 : 1;
  if (type == CUDNN_TYPE_INT64 && count > 0) std::memset(values, 0, sizeof(int64_t));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) {
  SHIM("cudnnBackendFinalize")
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  SHIM("cudnnBackendExecute")
  AmpcShimConvolution();
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
