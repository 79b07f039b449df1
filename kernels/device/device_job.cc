#include "kernels/device/device_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr int64_t kMostBuckets = 1 << 20;

std::shared_ptr<DeviceJob>& Current() {
  static auto& current = *new std::shared_ptr<DeviceJob>;
  return current;
}

}  // namespace

DeviceJob::DeviceJob(std::shared_ptr<Device> device, std::unique_ptr<Collectives> collectives, std::unique_ptr<Stream> stream)
    : device_(std::move(device)), stream_(std::move(stream)), collectives_(std::move(collectives)) {}

absl::StatusOr<std::unique_ptr<DeviceJob>> DeviceJob::Create(std::shared_ptr<Device> device, std::unique_ptr<Collectives> collectives) {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device->NewStream());
  return std::unique_ptr<DeviceJob>(new DeviceJob(std::move(device), std::move(collectives), std::move(stream)));
}

absl::Status DeviceJob::Prepare(int64_t bucket) {
  if (bucket < 0 || bucket >= kMostBuckets)
    return UsageError(absl::StrCat("exchange number ", bucket, " needs to be in [0, ", kMostBuckets, ")"));
  if (events_.size() <= static_cast<size_t>(bucket)) events_.resize(static_cast<size_t>(bucket) + 1);
  Events& events = events_[static_cast<size_t>(bucket)];
  if (events.ready != nullptr) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(events.ready, device_->NewEvent(/*timing=*/false));
  AMPC_ASSIGN_OR_RETURN(events.done, device_->NewEvent(/*timing=*/false));
  return absl::OkStatus();
}

absl::Status DeviceJob::Start(int64_t bucket, float* values, int64_t count, Stream& compute) {
  AMPC_RETURN_IF_ERROR(Check());
  Events& events = events_[static_cast<size_t>(bucket)];
  AMPC_RETURN_IF_ERROR(compute.Record(*events.ready));
  AMPC_RETURN_IF_ERROR(stream_->Wait(*events.ready));
  if (count > 0) AMPC_RETURN_IF_ERROR(collectives_->AllReduce(values, values, count, DType::kF32, ReduceOp::kSum, *stream_));
  return stream_->Record(*events.done);
}

absl::Status DeviceJob::Finish(int64_t bucket, Stream& compute) { return compute.Wait(*events_[static_cast<size_t>(bucket)].done); }

std::shared_ptr<DeviceJob> ProcessDeviceJob(const Device& device) {
  const std::shared_ptr<DeviceJob>& job = Current();
  return job != nullptr && &job->device() == &device ? job : nullptr;
}

void SetProcessDeviceJob(std::shared_ptr<DeviceJob> job) { Current() = std::move(job); }

absl::Status CheckDeviceJob(const Device& device) {
  const std::shared_ptr<DeviceJob> job = ProcessDeviceJob(device);
  return job == nullptr ? absl::OkStatus() : job->Check();
}

}  // namespace ampc
