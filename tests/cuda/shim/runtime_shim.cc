// The CUDA runtime of the shims, and what they share.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/launch/launch.h"
#include "tests/cuda/shim/shim.h"

namespace {

using Work = std::function<void()>;
struct Capture {
  std::vector<Work> work;
  bool ended = false;
};

struct State {
  std::recursive_mutex mutex;
  std::map<std::string, int64_t> calls;
  std::map<std::pair<std::string, int64_t>, int> failures;
  std::map<std::string, int64_t> live;
  std::map<const char*, std::pair<size_t, cudaMemoryType>> memory;
  ampc::testing::ShimTraffic traffic;
  bool computes = true;
};

State& TheState() {
  static auto* const state = new State;
  return *state;
}

constexpr int kDevices = 2;
thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;
thread_local bool in_library = false;  // what is launched next is a library's

}  // namespace

struct CUstream_st {
  const int device = current_device;
  std::shared_ptr<Capture> capture;  // that it is part of, or was
  bool Captures() const { return capture != nullptr && !capture->ended; }
};
struct CUevent_st {
  const int device = current_device;
  std::shared_ptr<Capture> capture;
};
struct CUgraph_st {
  std::shared_ptr<Capture> work;
};
struct CUgraphExec_st {
  std::shared_ptr<Capture> work;
};

extern "C" {

// For the libraries, too, which find it in the program.
__attribute__((visibility("default"))) int AmpcShimCall(const char* function) {
  State& s = TheState();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  const auto failure = s.failures.find({function, ++s.calls[function]});
  return failure == s.failures.end() ? 0 : failure->second;
}
__attribute__((visibility("default"))) void AmpcShimProduct() {
  ++TheState().traffic.products;
  in_library = true;
}
__attribute__((visibility("default"))) bool AmpcShimComputes() { return TheState().computes; }
__attribute__((visibility("default"))) void AmpcShimConvolution() { ++TheState().traffic.convolutions; }
__attribute__((visibility("default"))) void AmpcShimLive(const char* kind, int change) {
  State& s = TheState();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  s.live[kind] += change;
}

}  // extern "C"

namespace {

void Do(cudaStream_t stream, Work work) {
  if (stream->Captures()) {
    stream->capture->work.push_back(std::move(work));
  } else {
    work();
  }
}

template <class T>
void Make(T** to, const char* kind) {
  *to = new T;
  AmpcShimLive(kind, 1);
}
template <class T>
void Destroy(T* object, const char* kind) {
  delete object;
  AmpcShimLive(kind, -1);
}

cudaError_t Allocate(void** to, size_t bytes, cudaMemoryType type) {
  State& s = TheState();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  *to = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
             0);  // zeros: what nothing computes is the same each time
  if (*to == MAP_FAILED) return cudaErrorMemoryAllocation;
  s.memory[static_cast<const char*>(*to)] = {bytes, type};
  AmpcShimLive("allocations", 1);
  return cudaSuccess;
}
cudaError_t Free(void* memory) {
  State& s = TheState();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  if (memory == nullptr) return cudaSuccess;
  const auto at = s.memory.find(static_cast<const char*>(memory));
  if (at == s.memory.end()) return cudaErrorInvalidValue;
  munmap(memory, at->second.first);
  s.memory.erase(at);
  AmpcShimLive("allocations", -1);
  return cudaSuccess;
}

}  // namespace

// A failure is the last error, as of the runtime.
#define SHIM(function)                                      \
  if (const int code = AmpcShimCall(function); code != 0) { \
    return last_error = static_cast<cudaError_t>(code);     \
  }

// Work that is enqueued on a stream wants its device to be the thread's: some calls of the runtime take others, which no caller should have
// to know.
#define OF_STREAM(stream) \
  if ((stream)->device != current_device) return last_error = cudaErrorInvalidResourceHandle;

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t) { return "an error of the shim"; }
const char* cudaGetErrorName(cudaError_t code) {
  static thread_local std::string name;
  name = absl::StrCat("code ", static_cast<int>(code));
  return name.c_str();
}
cudaError_t cudaDriverGetVersion(int* version) {
  SHIM("cudaDriverGetVersion")
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  SHIM("cudaGetDeviceCount")
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  SHIM("cudaGetDeviceProperties")
  *properties = {};
  std::strncpy(properties->name, "shim", sizeof(properties->name) - 1);
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = size_t{8} << 30;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  SHIM("cudaSetDevice")
  if (device < 0 || device >= kDevices) return last_error = cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaMalloc(void** to, size_t bytes) {
  SHIM("cudaMalloc")
  return Allocate(to, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaHostAlloc(void** to, size_t bytes, unsigned) {
  SHIM("cudaHostAlloc")
  return Allocate(to, bytes, cudaMemoryTypeHost);
}
// A call that fails to free has freed: errors of earlier work are reported here.
cudaError_t cudaFree(void* memory) {
  ++TheState().traffic.waits;
  const cudaError_t code = Free(memory);
  SHIM("cudaFree")
  return code;
}
cudaError_t cudaFreeHost(void* memory) {
  ++TheState().traffic.waits;
  const cudaError_t code = Free(memory);
  SHIM("cudaFreeHost")
  return code;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  SHIM("cudaPointerGetAttributes")
  State& s = TheState();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  auto found = s.memory.upper_bound(static_cast<const char*>(at));
  if (found == s.memory.begin()) return cudaSuccess;
  --found;
  if (static_cast<const char*>(at) < found->first + found->second.first) attributes->type = found->second.second;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  SHIM("cudaStreamCreateWithFlags")
  Make(stream, "streams");
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Destroy(stream, "streams");
  SHIM("cudaStreamDestroy")
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++TheState().traffic.waits;
  SHIM("cudaStreamSynchronize")
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  SHIM("cudaStreamQuery")
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  SHIM("cudaStreamIsCapturing")
  *status = stream->Captures() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
// An event of a capture takes the stream into it.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  SHIM("cudaStreamWaitEvent")
  OF_STREAM(stream)
  if (event->capture != nullptr && !event->capture->ended) stream->capture = event->capture;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  SHIM("cudaStreamBeginCapture")
  OF_STREAM(stream)
  stream->capture = std::make_shared<Capture>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!stream->Captures()) return last_error = cudaErrorStreamCaptureInvalidated;
  stream->capture->ended = true;
  SHIM("cudaStreamEndCapture")
  Make(graph, "graphs");
  (*graph)->work = stream->capture;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  Destroy(graph, "graphs");
  SHIM("cudaGraphDestroy")
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  SHIM("cudaGraphInstantiate")
  Make(executable, "executable graphs");
  (*executable)->work = graph->work;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  Destroy(executable, "executable graphs");
  SHIM("cudaGraphExecDestroy")
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  SHIM("cudaGraphLaunch")
  OF_STREAM(stream)
  ++TheState().traffic.graphs;
  for (const Work& work : executable->work->work) work();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  SHIM("cudaMemcpyAsync")
  OF_STREAM(stream)
  ampc::testing::ShimTraffic& traffic = TheState().traffic;
  (kind == cudaMemcpyHostToDevice   ? traffic.bytes_to_device
   : kind == cudaMemcpyDeviceToHost ? traffic.bytes_to_host
                                    : traffic.bytes_on_device) += static_cast<int64_t>(bytes);
  Do(stream, [=] { std::memmove(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  SHIM("cudaMemsetAsync")
  OF_STREAM(stream)
  TheState().traffic.bytes_filled += static_cast<int64_t>(bytes);
  Do(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  SHIM("cudaEventCreateWithFlags")
  Make(event, "events");
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Destroy(event, "events");
  SHIM("cudaEventDestroy")
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  SHIM("cudaEventRecord")
  OF_STREAM(stream)
  OF_STREAM(event)
  event->capture = stream->Captures() ? stream->capture : nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) {
  SHIM("cudaEventQuery")
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  ++TheState().traffic.waits;
  SHIM("cudaEventSynchronize")
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  SHIM("cudaEventElapsedTime")
  *milliseconds = 1;
  return cudaSuccess;
}

}  // extern "C"

namespace ampc::cuda {

__attribute__((visibility("default"))) int EnqueueEmulated(void* stream, std::function<void()> work) {
  if (!std::exchange(in_library, false)) {
    if (const int code = AmpcShimCall("launch"); code != 0) return code;
    if (static_cast<cudaStream_t>(stream)->device != current_device) return cudaErrorInvalidResourceHandle;
    ++TheState().traffic.launches;
  }
  if (!TheState().computes) work = [] {};
  Do(static_cast<cudaStream_t>(stream), std::move(work));
  return 0;
}

}  // namespace ampc::cuda

namespace ampc::testing {

std::map<std::string, int64_t> ShimCalls() { return TheState().calls; }
void FailShimCall(const std::string& function, int64_t call, int code) { TheState().failures[{function, call}] = code; }
void ResetShim() {
  State& s = TheState();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  s.calls.clear();
  s.failures.clear();
  s.traffic = {};
}
void MakeShimDeviceCurrent(int device) { current_device = device; }
void SetShimComputes(bool computes) { TheState().computes = computes; }
ShimTraffic TrafficOfShim() { return TheState().traffic; }
std::string LiveShimObjects() {
  std::string text;
  for (const auto& [kind, count] : TheState().live) {
    if (count != 0) absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", kind);
  }
  return text;
}

}  // namespace ampc::testing
