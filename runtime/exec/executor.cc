#include "runtime/exec/executor.h"

#include "runtime/exec/device_executor.h"
#include "runtime/exec/host_executor.h"

namespace ampc {

std::shared_ptr<const Executor> MakeExecutor(std::unique_ptr<const ExecutionPlan> plan) {
  if (plan->target.has_value()) return std::make_shared<const DeviceExecutor>(std::move(plan));
  return std::make_shared<const HostExecutor>(std::move(plan));
}

}  // namespace ampc
