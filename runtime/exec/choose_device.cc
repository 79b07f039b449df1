#include "runtime/exec/choose_device.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/allocator.h"
#include "runtime/exec/tf32_device.h"

namespace ampc {
namespace {

void* WaitForOthers(void* all_made) {
  static_cast<std::latch*>(all_made)->wait();
  return nullptr;
}

// Makes the threads beside the calling one, all at the same time, and ends them.
absl::Status TryThreads(int threads) {
  std::vector<pthread_t> made;
  made.reserve(static_cast<size_t>(threads));
  std::latch all_made(1);
  int error = 0;
  while (error == 0 && static_cast<int>(made.size()) < threads - 1) {
    pthread_t thread;
    error = pthread_create(&thread, nullptr, WaitForOthers, &all_made);
    if (error == 0) made.push_back(thread);
  }
  all_made.count_down();
  for (const pthread_t thread : made) pthread_join(thread, nullptr);
  if (error == 0) return absl::OkStatus();
  return InternalError(
      absl::StrCat("threads is ", threads, ", the system gives this process ", made.size() + 1, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevice(const DeviceOptions& options) {
  if (options.threads < 0) return UsageError(absl::StrCat("threads is ", options.threads, ", 0 (all processors) or more is needed"));
  if (options.threads > kMaxThreads)
    return UsageError(absl::StrCat("threads is ", options.threads, ", at most ", kMaxThreads, " are possible"));
  if (options.memory_limit_bytes < 0) {
    return UsageError(absl::StrCat("memory_limit_bytes is ", options.memory_limit_bytes, ", 0 (no limit) or more is needed"));
  }
  DeviceChoice choice;
  choice.threads =
      options.threads > 0 ? options.threads : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
  AMPC_RETURN_IF_ERROR(TryThreads(choice.threads));
  if (options.device == "cpu") return choice;
  AMPC_ASSIGN_OR_RETURN(choice.target, OpenDevice(options.device));
  std::shared_ptr<Device>& device = choice.target->device;
  if (options.memory_limit_bytes > 0) device->allocator().SetLimit(options.memory_limit_bytes);
  if (options.tf32) device = std::make_shared<Tf32Device>(std::move(device));
  return choice;
}

}  // namespace ampc
