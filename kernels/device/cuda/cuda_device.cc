#include "kernels/device/cuda_backend.h"

#include <dlfcn.h>

#include <utility>

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/device/allocator.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/cuda/cublaslt.h"
#include "kernels/device/cuda/cuda_status.h"
#include "kernels/device/cuda/cuda_stream.h"
#include "kernels/device/cuda/cudnn.h"
#include "kernels/device/cuda/device_rules.h"
#include "kernels/device/cuda/nccl.h"
#include "kernels/device/matmul_library.h"

namespace ampc {
namespace {

// A library that is opened when it is asked for the first time.
template <typename Library>
class Opened {
 public:
  absl::StatusOr<Library*> Get(Device& device, absl::StatusOr<std::unique_ptr<Library>> (*open)(Device&)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (library_ == nullptr) {
      AMPC_ASSIGN_OR_RETURN(library_, open(device));
    }
    return library_.get();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Library> library_;
};

class CudaDevice : public Device {
 public:
  CudaDevice(int index, DeviceInfo info) : info_(std::move(info)), allocator_(*this, 0, {.idle = &CudaStreamIdle, .freed = nullptr}) {
    shared_.index = index;
  }
  const DeviceInfo& info() const override { return info_; }
  std::string name() const override { return absl::StrCat("cuda:", shared_.index); }
  absl::Status MakeCurrent() override { return CudaStatus(cudaSetDevice(shared_.index), "cudaSetDevice"); }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override { return NewCudaStream(*this, shared_); }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(bool timing) override { return NewCudaEvent(shared_, timing); }

  absl::StatusOr<void*> AllocateRaw(int64_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    AMPC_CUDA(cudaSetDevice, shared_.index);
    const RelaxedCapture relaxed;
    AMPC_CUDA(cudaMalloc, &memory, static_cast<size_t>(bytes));
    return memory;
  }
  void FreeRaw(void* memory) override {
    if (memory == nullptr) return;
    const RelaxedCapture relaxed;
    Freed(cudaFree(memory));
  }
  absl::StatusOr<void*> AllocatePinned(int64_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    AMPC_CUDA(cudaSetDevice, shared_.index);
    const RelaxedCapture relaxed;
    AMPC_CUDA(cudaHostAlloc, &memory, static_cast<size_t>(bytes), cudaHostAllocPortable);
    return memory;
  }
  void FreePinned(void* memory) override {
    if (memory == nullptr) return;
    const RelaxedCapture relaxed;
    Freed(cudaFreeHost(memory));
  }
  CachingAllocator& allocator() override { return allocator_; }

  absl::StatusOr<MatmulLibrary*> matmul() override { return matmul_.Get(*this, &NewCublasLt); }
  absl::StatusOr<ConvLibrary*> conv() override { return conv_.Get(*this, &NewCudnn); }

  absl::Status LaunchStatus(int code, absl::string_view what) const override {
    if (code == 0) return absl::OkStatus();
    if (code < 0) return InternalError(absl::StrCat("kernel ", what, ": not compiled for the type that it was launched with"));
    return Annotate(CudaStatus(static_cast<cudaError_t>(code), "launch"), absl::StrCat("kernel ", what));
  }
  int64_t synchronizations() const override { return shared_.synchronizations; }

 private:
  // The driver waits for the device before it takes memory back.
  void Freed(cudaError_t code) {
    ++shared_.synchronizations;
    CudaStatus(code, "cudaFree").IgnoreError();
  }

  const DeviceInfo info_;
  CudaShared shared_;
  CachingAllocator allocator_;
  Opened<MatmulLibrary> matmul_;
  Opened<ConvLibrary> conv_;
};

// How many devices there are, or in one sentence why there is none.
absl::StatusOr<int> CountDevices(const std::string& name) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return UnsupportedError(absl::StrCat(name, ": there is no NVIDIA driver on this machine (", dlerror(), ")"));
  }
  // Kernels have up to 32 KB of parameters, which drivers take from CUDA 12.1 on.
  constexpr int kNeeded = CUDART_VERSION >= 13000 ? CUDART_VERSION / 1000 * 1000 : 12010;
  int count = 0, driver = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  const absl::Status known = CudaStatus(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  if (!known.ok()) return UnsupportedError(absl::StrCat(name, ": ", known.message()));
  if (code == cudaErrorInsufficientDriver || (code == cudaSuccess && driver < kNeeded)) {
    return UnsupportedError(absl::StrCat(name, ": the NVIDIA driver is for CUDA ", driver / 1000, ".", driver % 1000 / 10,
                                         ", this build needs one for CUDA ", kNeeded / 1000, ".", kNeeded % 1000 / 10, " or newer"));
  }
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    return UnsupportedError(absl::StrCat(name, ": the NVIDIA driver finds no device"));
  const absl::Status status = CudaStatus(code, "cudaGetDeviceCount");
  if (!status.ok()) return UnsupportedError(absl::StrCat(name, ": ", status.message()));
  return count;
}

absl::StatusOr<DeviceInfo> InfoOf(int index) {
  cudaDeviceProp properties = {};
  AMPC_CUDA(cudaGetDeviceProperties, &properties, index);
  DeviceInfo info;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  info.has_tensor_cores = HasTensorCores(info.major, info.minor, info.name);
  AMPC_CUDA(cudaDriverGetVersion, &info.driver_version);
  return info;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> OpenCudaDevice(int index) {
  const std::string name = absl::StrCat("cuda:", index);
  AMPC_ASSIGN_OR_RETURN(const int count, CountDevices(name));
  if (index >= count)
    return UnsupportedError(absl::StrCat(name, ": this machine has ", count, count == 1 ? " device, cuda:0" : " devices, from cuda:0 on"));
  AMPC_ASSIGN_OR_RETURN(DeviceInfo info, InfoOf(index));
  AMPC_RETURN_IF_ERROR(CheckCapability(name, info));
  return std::make_shared<CudaDevice>(index, std::move(info));
}

const KernelRegistry* KernelsOfCudaDevices() { return &CudaKernels(); }

CollectiveLibrary* CollectivesOfCudaDevices() { return &Nccl(); }

}  // namespace ampc
