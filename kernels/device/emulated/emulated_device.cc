#include "kernels/device/emulated/emulated_device.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/allocator.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/emulated/emulated_collectives.h"
#include "kernels/device/emulated/emulated_conv.h"
#include "kernels/device/emulated/emulated_matmul.h"
#include "kernels/device/emulated/emulated_stream.h"
#include "kernels/device/matmul_library.h"

namespace ampc {
namespace {

constexpr int kPoison = 0xa5;  // what fresh and freed memory holds: not zeros, and as floats no numbers that pass for results

AllocatorHooks Hooks() {
  return {.idle = [](Stream& stream) { return static_cast<EmulatedStream&>(stream).Idle(); },
          .freed =
              [](Stream& stream, void* data, int64_t bytes) {
                static_cast<EmulatedStream&>(stream).EnqueueUncaptured([=] { std::memset(data, kPoison, static_cast<size_t>(bytes)); });
              }};
}

class EmulatedDevice : public Device, public EmulatedMemory {
 public:
  EmulatedDevice(int index, int64_t memory_bytes)
      : index_(index), allocator_(*this, 0, Hooks()), matmul_(NewEmulatedMatmul()), conv_(NewEmulatedConv()) {
    info_.name = "emulated device";
    info_.major = 9;
    info_.multiprocessors = 1;
    info_.memory_bytes = memory_bytes;
    info_.has_tensor_cores = true;
  }
  ~EmulatedDevice() override { engine_->RunAll(); }
  const DeviceInfo& info() const override { return info_; }
  std::string name() const override { return absl::StrCat("emulated:", index_); }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override { return std::make_unique<EmulatedStream>(*this, *this, engine_); }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(bool timing) override { return std::make_unique<EmulatedEvent>(engine_, timing); }

  absl::StatusOr<void*> AllocateRaw(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    AMPC_RETURN_IF_ERROR(engine_->RefuseDuringCapture("memory is allocated by the driver"));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (in_use_ + bytes > info_.memory_bytes)
      return absl::ResourceExhaustedError(absl::StrCat("emulated device: no ", bytes, " bytes left"));
    AMPC_ASSIGN_OR_RETURN(void* memory, NewMemory(bytes, sizes_));
    in_use_ += bytes;
    return memory;
  }
  void FreeRaw(void* memory) override {
    if (memory != nullptr) in_use_ -= Free(memory, sizes_);
  }
  absl::StatusOr<void*> AllocatePinned(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    AMPC_RETURN_IF_ERROR(engine_->RefuseDuringCapture("pinned memory is allocated"));
    const std::lock_guard<std::mutex> lock(mutex_);
    return NewMemory(bytes, pinned_);
  }
  void FreePinned(void* memory) override {
    if (memory != nullptr) Free(memory, pinned_);
  }
  CachingAllocator& allocator() override { return allocator_; }

  absl::StatusOr<MatmulLibrary*> matmul() override { return matmul_.get(); }
  absl::StatusOr<ConvLibrary*> conv() override { return conv_.get(); }

  absl::Status LaunchStatus(int code, absl::string_view what) const override {
    return code == 0 ? absl::OkStatus() : InternalError(absl::StrCat("kernel ", what, ": launch failed with code ", code));
  }
  int64_t synchronizations() const override { return engine_->synchronizations; }

  bool OnDevice(const void* data, int64_t bytes) override { return IsWithin(data, bytes, sizes_); }
  bool IsPinned(const void* data, int64_t bytes) override { return IsWithin(data, bytes, pinned_); }
  Engine& engine() { return *engine_; }

 private:
  using Sizes = std::map<const char*, int64_t>;

  static absl::StatusOr<void*> NewMemory(int64_t bytes, Sizes& sizes) {
    void* memory = std::aligned_alloc(256, static_cast<size_t>((bytes + 255) / 256 * 256));
    if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("emulated device: the host has no ", bytes, " bytes"));
    std::memset(memory, kPoison, static_cast<size_t>(bytes));
    sizes[static_cast<const char*>(memory)] = bytes;
    return memory;
  }
  // Waits for the device, as drivers do; returns the size.
  int64_t Free(void* memory, Sizes& sizes) {
    engine_->RefuseDuringCapture("memory is freed by the driver").IgnoreError();  // spoils the capture
    ++engine_->synchronizations;
    engine_->RunAll();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = sizes.find(static_cast<const char*>(memory));
    const int64_t bytes = at->second;
    sizes.erase(at);
    std::free(memory);
    return bytes;
  }
  bool IsWithin(const void* data, int64_t bytes, const Sizes& sizes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto at = sizes.upper_bound(static_cast<const char*>(data));
    if (at == sizes.begin()) return false;
    --at;
    return static_cast<const char*>(data) + bytes <= at->first + at->second;
  }

  const int index_;
  DeviceInfo info_;
  const std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
  std::mutex mutex_;
  std::atomic<int64_t> in_use_ = 0;
  Sizes sizes_, pinned_;
  CachingAllocator allocator_;
  const std::unique_ptr<MatmulLibrary> matmul_;
  const std::unique_ptr<ConvLibrary> conv_;
};

const KernelRegistry* kernels_of_emulated_device = nullptr;

absl::StatusOr<DeviceTarget> Open(int index) {
  if (index > 1) return UnsupportedError(absl::StrCat("emulated:", index, ": there are the emulated devices 0 and 1"));
  return DeviceTarget{NewEmulatedDevice(index), kernels_of_emulated_device, &EmulatedCollectives()};
}

}  // namespace

std::shared_ptr<Device> NewEmulatedDevice(int index, int64_t memory_bytes) { return std::make_shared<EmulatedDevice>(index, memory_bytes); }

void SetEmulatedDelay(Device& device, int asks) { static_cast<EmulatedDevice&>(device).engine().delay = asks; }

int64_t EmulatedLaunches(Device& device) { return static_cast<EmulatedDevice&>(device).engine().launches; }

void AddEmulatedDevice(const KernelRegistry& kernels) {
  kernels_of_emulated_device = &kernels;
  AddDeviceBackend("emulated", &Open);
}

}  // namespace ampc
