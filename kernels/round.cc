#include "kernels/round.h"

#include "graph/base/convert.h"
#include "kernels/parallel.h"

namespace ampc {

void RoundTo(DType type, float* data, int64_t n, int threads) {
  if (!IsLowPrecision(type)) return;
  ParallelFor(threads, n, 1 << 15, [&](int64_t first, int64_t last) {
    const size_t count = static_cast<size_t>(last - first);
    if (type == DType::kF16) {
      RoundF32ToF16InPlace(data + first, count);
    } else {
      RoundF32ToBF16InPlace(data + first, count);
    }
  });
}

}  // namespace ampc
