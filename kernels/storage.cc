#include "kernels/storage.h"

#include "graph/base/convert.h"
#include "graph/base/status_macros.h"
#include "kernels/parallel.h"

namespace ampc {

void Widen(const HostTensor& low, float* to, int threads) {
  ParallelFor(threads, low.num_elements(), 1 << 15, [&](int64_t first, int64_t last) {
    const size_t n = static_cast<size_t>(last - first);
    if (low.dtype() == DType::kF16) {
      F16ToF32(low.values<Half>().data() + first, to + first, n);
    } else {
      BF16ToF32(low.values<BFloat16>().data() + first, to + first, n);
    }
  });
}

absl::StatusOr<HostTensor> ToStorage(HostTensor value) {
  if (!IsLowPrecision(value.dtype())) return value;
  AMPC_ASSIGN_OR_RETURN(HostTensor wide, HostTensor::CreateUninitialized(DType::kF32, value.dims()));
  Widen(value, wide.mutable_values<float>().data());
  return wide;
}

absl::StatusOr<HostTensor> FromStorage(const HostTensor& value, DType declared) {
  if (!IsLowPrecision(declared)) return value;
  AMPC_ASSIGN_OR_RETURN(HostTensor narrow, HostTensor::CreateUninitialized(declared, value.dims()));
  const size_t n = static_cast<size_t>(value.num_elements());
  const float* from = value.values<float>().data();
  if (declared == DType::kF16) {
    F32ToF16(from, narrow.mutable_values<Half>().data(), n);
  } else {
    F32ToBF16(from, narrow.mutable_values<BFloat16>().data(), n);
  }
  return narrow;
}

}  // namespace ampc
