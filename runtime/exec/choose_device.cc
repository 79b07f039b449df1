#include "runtime/exec/choose_device.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/allocator.h"
#include "runtime/exec/tf32_device.h"

namespace ampc {

absl::StatusOr<DeviceChoice> ChooseDevice(const DeviceOptions& options) {
  if (options.threads < 0) return UsageError(absl::StrCat("threads is ", options.threads, ", 0 (all processors) or more is needed"));
  if (options.memory_limit_bytes < 0) {
    return UsageError(absl::StrCat("memory_limit_bytes is ", options.memory_limit_bytes, ", 0 (no limit) or more is needed"));
  }
  DeviceChoice choice;
  choice.threads = options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (options.device == "cpu") return choice;
  AMPC_ASSIGN_OR_RETURN(choice.target, OpenDevice(options.device));
  std::shared_ptr<Device>& device = choice.target->device;
  if (options.memory_limit_bytes > 0) device->allocator().SetLimit(options.memory_limit_bytes);
  if (options.tf32) device = std::make_shared<Tf32Device>(std::move(device));
  return choice;
}

}  // namespace ampc
