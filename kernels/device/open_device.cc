#include "kernels/device/open_device.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda_backend.h"

namespace ampc {

// Null in a program without the backend.
__attribute__((weak)) absl::StatusOr<std::shared_ptr<Device>> OpenCudaDevice(int index);
__attribute__((weak)) const KernelRegistry* KernelsOfCudaDevices();
__attribute__((weak)) CollectiveLibrary* CollectivesOfCudaDevices();

namespace {

absl::StatusOr<DeviceTarget> OpenCuda(int index) {
  if (OpenCudaDevice == nullptr) {
    return UnsupportedError(absl::StrCat("device 'cuda:", index, "': this build has no CUDA, build with --config=cuda"));
  }
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenCudaDevice(index));
  return DeviceTarget{std::move(device), KernelsOfCudaDevices(), CollectivesOfCudaDevices()};
}

struct OpenedDevice {
  std::weak_ptr<Device> device;
  const KernelRegistry* kernels = nullptr;
  CollectiveLibrary* collectives = nullptr;
};

struct State {
  Mutex mutex;
  std::map<std::string, OpenBackendFn> backends ABSL_GUARDED_BY(mutex) = {{"cuda", &OpenCuda}};
  std::map<std::pair<std::string, int>, OpenedDevice> opened ABSL_GUARDED_BY(mutex);
};

State& TheState() {
  static auto* const state = new State;
  return *state;
}

absl::Status BadName(const std::string& name) {
  return UsageError(absl::StrCat("device '", name, "' is not of the form cpu, cuda or cuda:N"));
}

// -1 unless `digits` are a number.
int IndexOf(const std::string& digits) {
  int index = -1;
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  return all_digits && absl::SimpleAtoi(digits, &index) ? index : -1;
}

}  // namespace

absl::StatusOr<DeviceTarget> OpenDevice(const std::string& name, const std::function<void(const std::string&)>& warn) {
  if (name == "cpu") return DeviceTarget{};
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const int index = colon == std::string::npos ? 0 : IndexOf(name.substr(colon + 1));
  State& state = TheState();
  const MutexLock lock(state.mutex);
  const auto backend = state.backends.find(kind);
  if (backend == state.backends.end() || index < 0) return BadName(name);
  OpenedDevice& opened = state.opened[{kind, index}];
  DeviceTarget target = {opened.device.lock(), opened.kernels, opened.collectives};
  if (target.device == nullptr) {
    AMPC_ASSIGN_OR_RETURN(target, backend->second(index));
    opened = {target.device, target.kernels, target.collectives};
  }
  const DeviceInfo& info = target.device->info();
  if (warn && !info.has_tensor_cores) {
    warn(absl::StrCat(target.device->name(), " is a ", info.name,
                      ", which has no tensor cores: float16 will not be faster than float32 on it"));
  }
  return target;
}

void AddDeviceBackend(const std::string& name, OpenBackendFn open) {
  State& state = TheState();
  const MutexLock lock(state.mutex);
  state.backends[name] = open;
  std::erase_if(state.opened, [&](const auto& opened) { return opened.first.first == name; });
}

}  // namespace ampc
