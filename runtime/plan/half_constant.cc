#include "runtime/plan/half_constant.h"

#include "graph/base/status_macros.h"
#include "kernels/storage.h"

namespace ampc {

absl::StatusOr<std::shared_ptr<const HostTensor>> HalfConstant::Widened() {
  const MutexLock lock(mutex_);
  if (readers_ == 0) {
    AMPC_ASSIGN_OR_RETURN(wide_, HostTensor::CreateUninitialized(DType::kF32, half_->dims()));
    Widen(*half_, wide_.mutable_values<float>().data());
  }
  ++readers_;
  return std::shared_ptr<const HostTensor>(&wide_, [self = shared_from_this()](const HostTensor*) { self->Drop(); });
}

void HalfConstant::Drop() {
  const MutexLock lock(mutex_);
  if (--readers_ == 0) wide_ = HostTensor();
}

}  // namespace ampc
