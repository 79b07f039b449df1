#include "kernels/device/cuda/cuda_stream.h"

#include <nvtx3/nvToolsExt.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/allocator.h"
#include "kernels/device/cuda/cuda_status.h"

namespace ampc {
namespace {

class CudaEvent : public Event {
 public:
  CudaEvent(CudaShared& shared, cudaEvent_t event) : shared_(shared), event_(event) {}
  ~CudaEvent() override { (void)cudaEventDestroy(event_); }

  absl::StatusOr<bool> Done() override {
    const RelaxedCapture relaxed;
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    AMPC_RETURN_IF_ERROR(CudaStatus(code, "cudaEventQuery"));
    return true;
  }
  absl::Status Synchronize() override {
    ++shared_.synchronizations;
    return CudaStatus(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }
  absl::StatusOr<double> MillisecondsSince(const Event& earlier) override {
    float milliseconds = 0;
    AMPC_CUDA(cudaEventElapsedTime, &milliseconds, static_cast<const CudaEvent&>(earlier).event_, event_);
    return milliseconds;
  }
  cudaEvent_t native() const { return event_; }

 private:
  CudaShared& shared_;
  const cudaEvent_t event_;
};

class CudaGraph : public Graph {
 public:
  explicit CudaGraph(cudaGraphExec_t graph) : graph_(graph) {}
  ~CudaGraph() override { (void)cudaGraphExecDestroy(graph_); }
  absl::Status Launch(Stream& stream) override {
    return CudaStatus(cudaGraphLaunch(graph_, static_cast<cudaStream_t>(stream.native())), "cudaGraphLaunch");
  }

 private:
  const cudaGraphExec_t graph_;
};

// Its calls take the stream's device as the thread's: the runtime refuses a stream of another device in some of them.
class CudaStream : public Stream {
 public:
  CudaStream(Device& device, CudaShared& shared, cudaStream_t stream) : device_(device), shared_(shared), stream_(stream) {}
  ~CudaStream() override {
    // Its memory is for other streams from now on.
    ++shared_.synchronizations;
    (void)cudaStreamSynchronize(stream_);
    device_.allocator().Forget(*this);
    (void)cudaStreamDestroy(stream_);
    (void)cudaGetLastError();
  }
  Device& device() override { return device_; }
  // Launches want the stream's device to be the thread's.
  void* native() override {
    (void)cudaSetDevice(shared_.index);
    return stream_;
  }

  absl::Status CopyToDevice(void* to, const void* from, int64_t bytes) override {
    return CopyHost(to, from, bytes, cudaMemcpyHostToDevice, from);
  }
  absl::Status CopyToHost(void* to, const void* from, int64_t bytes) override {
    return CopyHost(to, from, bytes, cudaMemcpyDeviceToHost, to);
  }
  absl::Status CopyOnDevice(void* to, const void* from, int64_t bytes) override { return Copy(to, from, bytes, cudaMemcpyDeviceToDevice); }
  absl::Status FillBytes(void* to, int value, int64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    AMPC_CUDA(cudaSetDevice, shared_.index);
    return CudaStatus(cudaMemsetAsync(to, value, static_cast<size_t>(bytes), stream_), "cudaMemsetAsync");
  }

  absl::Status Record(Event& event) override {
    AMPC_CUDA(cudaSetDevice, shared_.index);
    return CudaStatus(cudaEventRecord(static_cast<CudaEvent&>(event).native(), stream_), "cudaEventRecord");
  }
  absl::Status Wait(Event& event) override {
    const std::lock_guard<std::mutex> lock(shared_.captures);
    AMPC_CUDA(cudaSetDevice, shared_.index);
    return CudaStatus(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).native(), 0), "cudaStreamWaitEvent");
  }
  absl::Status Synchronize() override {
    ++shared_.synchronizations;
    return CudaStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  absl::Status BeginCapture() override {
    const std::lock_guard<std::mutex> lock(shared_.captures);
    AMPC_CUDA(cudaSetDevice, shared_.index);
    return CudaStatus(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    cudaGraph_t graph = nullptr;
    AMPC_CUDA(cudaSetDevice, shared_.index);
    AMPC_CUDA(cudaStreamEndCapture, stream_, &graph);
    cudaGraphExec_t executable = nullptr;
    const absl::Status status = CudaStatus(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    (void)cudaGraphDestroy(graph);
    AMPC_RETURN_IF_ERROR(status);
    return std::make_unique<CudaGraph>(executable);
  }

  void PushRange(const char* name) override { nvtxRangePushA(name); }
  void PopRange() override { nvtxRangePop(); }

  bool Idle() {
    const std::lock_guard<std::mutex> lock(shared_.captures);
    if (Capturing().value_or(true)) return false;
    const RelaxedCapture relaxed;
    const cudaError_t code = cudaStreamQuery(stream_);
    if (code != cudaSuccess) (void)cudaGetLastError();
    return code == cudaSuccess;
  }

 private:
  absl::StatusOr<bool> Capturing() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    AMPC_CUDA(cudaStreamIsCapturing, stream_, &status);
    return status != cudaStreamCaptureStatusNone;
  }
  absl::Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return absl::OkStatus();
    AMPC_CUDA(cudaSetDevice, shared_.index);
    return CudaStatus(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_), "cudaMemcpyAsync");
  }
  absl::Status CopyHost(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind, const void* host) {
    if (bytes == 0) return absl::OkStatus();
    cudaPointerAttributes attributes = {};
    {
      const RelaxedCapture relaxed;
      AMPC_CUDA(cudaPointerGetAttributes, &attributes, host);
    }
    if (attributes.type == cudaMemoryTypeHost) return Copy(to, from, bytes, kind);
    AMPC_ASSIGN_OR_RETURN(const bool capturing, Capturing());
    if (capturing) return InternalError("a copy of memory that is not pinned cannot be captured");
    AMPC_RETURN_IF_ERROR(Copy(to, from, bytes, kind));
    return Synchronize();
  }

  Device& device_;
  CudaShared& shared_;
  const cudaStream_t stream_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> NewCudaStream(Device& device, CudaShared& shared) {
  AMPC_CUDA(cudaSetDevice, shared.index);
  cudaStream_t stream = nullptr;
  AMPC_CUDA(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  return std::make_unique<CudaStream>(device, shared, stream);
}

absl::StatusOr<std::unique_ptr<Event>> NewCudaEvent(CudaShared& shared, bool timing) {
  AMPC_CUDA(cudaSetDevice, shared.index);
  cudaEvent_t event = nullptr;
  AMPC_CUDA(cudaEventCreateWithFlags, &event, timing ? cudaEventDefault : cudaEventDisableTiming);
  return std::make_unique<CudaEvent>(shared, event);
}

bool CudaStreamIdle(Stream& stream) { return static_cast<CudaStream&>(stream).Idle(); }

}  // namespace ampc
