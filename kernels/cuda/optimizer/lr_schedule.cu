#include "kernels/cuda/optimizer/lr_schedule.h"

#include "kernels/cuda/launch/launch.h"

namespace ampc::cuda {
namespace {

template <class T>
AMPC_HOST_DEVICE void Schedule(const LrScheduleParams& p) {
  const bool skip = p.skip != nullptr && *p.skip;
  const int64_t next = skip ? *p.step : *p.step + 1;
  const T rate = skip ? *static_cast<const T*>(p.rate) : static_cast<T>(p.rule.At(next));
  *p.step_out = next;
  *static_cast<T*>(p.rate_out) = rate;
}

}  // namespace

int LaunchLrSchedule(void* stream, const LrScheduleParams& p) {
  return ForEach(stream, 1, [p] AMPC_DEVICE(int64_t) { p.is_double ? Schedule<double>(p) : Schedule<float>(p); });
}

}  // namespace ampc::cuda
