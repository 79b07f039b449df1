#include "kernels/round.h"

#include "graph/base/convert.h"
#include "kernels/parallel.h"

namespace ampc {

RoundFn RoundingTo(DType type) {
  if (type == DType::kF16) return &RoundF32ToF16InPlace;
  return type == DType::kBF16 ? &RoundF32ToBF16InPlace : nullptr;
}

void RoundTo(DType type, float* data, int64_t n, int threads) {
  const RoundFn round = RoundingTo(type);
  if (round == nullptr) return;
  ParallelFor(threads, n, 1 << 15, [&](int64_t first, int64_t last) { round(data + first, static_cast<size_t>(last - first)); });
}

}  // namespace ampc
