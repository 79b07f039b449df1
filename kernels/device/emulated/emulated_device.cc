#include "kernels/device/emulated/emulated_device.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/device/allocator.h"
#include "kernels/device/conv_library.h"
#include "kernels/device/emulated/emulated_conv.h"
#include "kernels/device/emulated/emulated_matmul.h"

namespace ampc {
namespace {

constexpr int kPoison = 0xa5;  // what fresh memory holds: not zeros, and as floats no numbers that pass for results

using Work = std::function<void()>;
using Clock = std::chrono::steady_clock;

class EmulatedDevice;

// Streams of a device share one order of work: a wait for an event is then nothing.
struct Queue {
  std::recursive_mutex mutex;
  std::deque<Work> work;
  void Push(Work w) {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    work.push_back(std::move(w));
  }
  void Drain() {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    while (!work.empty()) {
      const Work next = std::move(work.front());
      work.pop_front();
      next();
    }
  }
};

class EmulatedStream;

class EmulatedEvent : public Event {
 public:
  EmulatedEvent(EmulatedDevice& device, Queue& queue) : device_(device), queue_(queue) {}
  absl::StatusOr<bool> Done() override {
    queue_.Drain();  // a device would have done it by now
    return true;
  }
  absl::Status Synchronize() override;
  absl::StatusOr<double> MillisecondsSince(const Event& earlier) override {
    return std::chrono::duration<double, std::milli>(*at_ - *static_cast<const EmulatedEvent&>(earlier).at_).count();
  }
  std::shared_ptr<Clock::time_point> at() { return at_; }

 private:
  EmulatedDevice& device_;
  Queue& queue_;
  std::shared_ptr<Clock::time_point> at_ = std::make_shared<Clock::time_point>(Clock::now());
};

class EmulatedGraph : public Graph {
 public:
  explicit EmulatedGraph(std::vector<Work> work) : work_(std::make_shared<const std::vector<Work>>(std::move(work))) {}
  absl::Status Launch(Stream& stream) override;

 private:
  std::shared_ptr<const std::vector<Work>> work_;
};

class EmulatedStream : public Stream {
 public:
  EmulatedStream(EmulatedDevice& device, Queue& queue) : device_(device), queue_(queue) {}
  Device& device() override;
  void* native() override { return this; }

  absl::Status CopyToDevice(void* to, const void* from, int64_t bytes) override;
  absl::Status CopyToHost(void* to, const void* from, int64_t bytes) override;
  absl::Status CopyOnDevice(void* to, const void* from, int64_t bytes) override { return Copy(to, from, bytes); }
  absl::Status FillBytes(void* to, int value, int64_t bytes) override {
    Enqueue([=] { std::memset(to, value, static_cast<size_t>(bytes)); });
    return absl::OkStatus();
  }
  absl::Status Record(Event& event) override {
    Enqueue([at = static_cast<EmulatedEvent&>(event).at()] { *at = Clock::now(); });
    return absl::OkStatus();
  }
  absl::Status Wait(Event&) override { return absl::OkStatus(); }
  absl::Status Synchronize() override;
  absl::Status BeginCapture() override {
    if (capturing_) return InternalError("a capture is under way on this stream");
    capturing_ = true;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    if (!capturing_) return InternalError("no capture is under way on this stream");
    capturing_ = false;
    return std::make_unique<EmulatedGraph>(std::exchange(captured_, {}));
  }
  void PushRange(const char*) override {}
  void PopRange() override {}

  void Enqueue(Work work) {
    if (capturing_) captured_.push_back(std::move(work));
    else queue_.Push(std::move(work));
  }

 private:
  absl::Status Copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0) Enqueue([=] { std::memmove(to, from, static_cast<size_t>(bytes)); });
    return absl::OkStatus();
  }
  absl::Status CopyHost(void* to, const void* from, int64_t bytes, const void* host);

  EmulatedDevice& device_;
  Queue& queue_;
  bool capturing_ = false;
  std::vector<Work> captured_;
};

class EmulatedDevice : public Device {
 public:
  EmulatedDevice(int index, int64_t memory_bytes) : index_(index), allocator_(*this), matmul_(NewEmulatedMatmul()), conv_(NewEmulatedConv()) {
    info_.name = "emulated device";
    info_.major = 9;
    info_.multiprocessors = 1;
    info_.memory_bytes = memory_bytes;
    info_.has_tensor_cores = true;
  }
  ~EmulatedDevice() override { queue_.Drain(); }
  const DeviceInfo& info() const override { return info_; }
  std::string name() const override { return absl::StrCat("emulated:", index_); }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override { return std::make_unique<EmulatedStream>(*this, queue_); }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(bool) override { return std::make_unique<EmulatedEvent>(*this, queue_); }

  absl::StatusOr<void*> AllocateRaw(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (in_use_ + bytes > info_.memory_bytes) return absl::ResourceExhaustedError(absl::StrCat("emulated device: no ", bytes, " bytes left"));
    void* memory = NewMemory(bytes);
    in_use_ += bytes;
    sizes_[memory] = bytes;
    return memory;
  }
  void FreeRaw(void* memory) override {
    if (memory == nullptr) return;
    queue_.Drain();
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_ -= sizes_[memory];
    sizes_.erase(memory);
    std::free(memory);
  }
  absl::StatusOr<void*> AllocatePinned(int64_t bytes) override {
    if (bytes == 0) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    void* memory = NewMemory(bytes);
    pinned_[memory] = bytes;
    return memory;
  }
  void FreePinned(void* memory) override {
    if (memory == nullptr) return;
    queue_.Drain();
    const std::lock_guard<std::mutex> lock(mutex_);
    pinned_.erase(memory);
    std::free(memory);
  }
  CachingAllocator& allocator() override { return allocator_; }

  absl::StatusOr<MatmulLibrary*> matmul() override { return matmul_.get(); }
  absl::StatusOr<ConvLibrary*> conv() override { return conv_.get(); }

  absl::Status LaunchStatus(int code, absl::string_view what) const override {
    return code == 0 ? absl::OkStatus() : InternalError(absl::StrCat("kernel ", what, ": launch failed with code ", code));
  }
  int64_t synchronizations() const override { return synchronizations_; }

  void CountSynchronization() { ++synchronizations_; }
  bool IsPinned(const void* host) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto at = pinned_.upper_bound(const_cast<void*>(host));
    if (at == pinned_.begin()) return false;
    --at;
    return host < static_cast<const char*>(at->first) + at->second;
  }

 private:
  static void* NewMemory(int64_t bytes) {
    void* memory = std::aligned_alloc(256, static_cast<size_t>((bytes + 255) / 256 * 256));
    std::memset(memory, kPoison, static_cast<size_t>(bytes));
    return memory;
  }

  const int index_;
  DeviceInfo info_;
  Queue queue_;
  std::mutex mutex_;
  int64_t in_use_ = 0;
  std::map<void*, int64_t> sizes_, pinned_;
  std::atomic<int64_t> synchronizations_ = 0;
  CachingAllocator allocator_;
  const std::unique_ptr<MatmulLibrary> matmul_;
  const std::unique_ptr<ConvLibrary> conv_;
};

absl::Status EmulatedEvent::Synchronize() {
  device_.CountSynchronization();
  queue_.Drain();
  return absl::OkStatus();
}

absl::Status EmulatedGraph::Launch(Stream& stream) {
  static_cast<EmulatedStream&>(stream).Enqueue([work = work_] {
    for (const Work& w : *work) w();
  });
  return absl::OkStatus();
}

Device& EmulatedStream::device() { return device_; }

absl::Status EmulatedStream::Synchronize() {
  if (capturing_) return InternalError("the host waits for a stream whose work is being captured");
  device_.CountSynchronization();
  queue_.Drain();
  return absl::OkStatus();
}

absl::Status EmulatedStream::CopyHost(void* to, const void* from, int64_t bytes, const void* host) {
  if (bytes == 0 || device_.IsPinned(host)) return Copy(to, from, bytes);
  if (capturing_) return InternalError("a copy of memory that is not pinned cannot be captured");
  device_.CountSynchronization();
  queue_.Drain();
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status EmulatedStream::CopyToDevice(void* to, const void* from, int64_t bytes) { return CopyHost(to, from, bytes, from); }

absl::Status EmulatedStream::CopyToHost(void* to, const void* from, int64_t bytes) { return CopyHost(to, from, bytes, to); }

const KernelRegistry* kernels_of_emulated_device = nullptr;

absl::StatusOr<DeviceTarget> Open(int index) {
  if (index > 1) return UnsupportedError(absl::StrCat("emulated:", index, ": there are the emulated devices 0 and 1"));
  return DeviceTarget{NewEmulatedDevice(index), kernels_of_emulated_device};
}

}  // namespace

std::shared_ptr<Device> NewEmulatedDevice(int index, int64_t memory_bytes) { return std::make_shared<EmulatedDevice>(index, memory_bytes); }

void AddEmulatedDevice(const KernelRegistry& kernels) {
  kernels_of_emulated_device = &kernels;
  AddDeviceBackend("emulated", &Open);
}

namespace cuda {

int EnqueueEmulated(void* stream, std::function<void()> work) {
  static_cast<EmulatedStream*>(stream)->Enqueue(std::move(work));
  return 0;
}

}  // namespace cuda
}  // namespace ampc
