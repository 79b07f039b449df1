// DeviceJob: what the device kernels of collective ops work with: the devices of a job's processes, one each, joined.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/collectives.h"
#include "kernels/device/device.h"

namespace ampc {

// A process's part. Its collectives work on a stream of their own, beside the stream that computes; events order the two. Used by one
// thread at a time.
class DeviceJob {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceJob>> Create(std::shared_ptr<Device> device, std::unique_ptr<Collectives> collectives);

  Device& device() const { return *device_; }
  int size() const { return collectives_->size(); }
  // Exchange number `bucket` starts once `compute` has come here: values of all ranks are added up in place, on the job's stream.
  absl::Status Start(int64_t bucket, float* values, int64_t count, Stream& compute);
  // Later work on `compute` finds the sums.
  absl::Status Finish(int64_t bucket, Stream& compute);
  // Makes the events of an exchange, before its first Start.
  absl::Status Prepare(int64_t bucket);
  absl::Status Check() { return collectives_->Check(); }

 private:
  struct Events {
    std::unique_ptr<Event> ready, done;
  };
  DeviceJob(std::shared_ptr<Device> device, std::unique_ptr<Collectives> collectives, std::unique_ptr<Stream> stream);

  const std::shared_ptr<Device> device_;
  const std::unique_ptr<Stream> stream_;
  std::vector<Events> events_;  // by bucket
  const std::unique_ptr<Collectives> collectives_;
};

// The job that this process's device belongs to; null where there is none, or another device's. Set before plans are made that use it,
// which keep it: what they captured of its work goes before it. Null leaves it, when its work is done.
std::shared_ptr<DeviceJob> ProcessDeviceJob(const Device& device);
void SetProcessDeviceJob(std::shared_ptr<DeviceJob> job);

// The error, if any, of earlier exchanges of the device's job, if it has one. To be asked after waiting for a stream: if a rank died, the
// work that waited for it was given up.
absl::Status CheckDeviceJob(const Device& device);

}  // namespace ampc
