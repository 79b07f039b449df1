#include "runtime/exec/executor.h"

#include "graph/base/status_macros.h"
#include "runtime/exec/device_executor.h"
#include "runtime/exec/feed_checks.h"
#include "runtime/exec/host_executor.h"

namespace ampc {

absl::StatusOr<std::vector<HostTensor>> Executor::Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) const {
  std::vector<HostTensor> fetches;
  for (const ValueId v : plan().specialized.fetches) {
    const TensorDesc& desc = plan().specialized.descs[v];
    AMPC_ASSIGN_OR_RETURN(fetches.emplace_back(), HostTensor::CreateUninitialized(desc.dtype, desc.dims));
  }
  AMPC_RETURN_IF_ERROR(Fill(feeds, absl::MakeSpan(fetches), observed));
  return fetches;
}

absl::Status Executor::RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const {
  const Specialized& s = plan().specialized;
  for (size_t i = 0; i < fetches.size(); ++i) {
    const TensorDesc& desc = s.descs[s.fetches[i]];
    AMPC_RETURN_IF_ERROR(CheckFetch(*s.range.fetches[i], desc.dtype, desc.dims, fetches[i]));
  }
  return Fill(feeds, fetches, observed);
}

std::shared_ptr<const Executor> MakeExecutor(std::unique_ptr<const ExecutionPlan> plan) {
  if (plan->target.has_value()) return std::make_shared<const DeviceExecutor>(std::move(plan));
  return std::make_shared<const HostExecutor>(std::move(plan));
}

}  // namespace ampc
