#include "kernels/cuda/sampling/random.h"

#include <cmath>
#include <numbers>

#include "kernels/common/keep_mask.h"
#include "kernels/common/normal_quantile.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Number `i` of a stream, in (0, 1).
AMPC_HOST_DEVICE inline double UnitAt(uint64_t stream, uint64_t i) {
  return (static_cast<double>(MixBits(stream + i * 0x9e3779b97f4a7c15u) >> 11) + 0.5) * 0x1p-53;
}

AMPC_HOST_DEVICE inline double ValueAt(const RandomParams& p, uint64_t i) {
  constexpr double kTwoPi = 6.283185307179586;
  if (p.kind == RandomKind::kUniform) return p.a + (p.b - p.a) * UnitAt(p.stream, i);
  if (p.kind == RandomKind::kNormal) {
    return p.a + p.b * std::sqrt(-2 * std::log(UnitAt(p.stream, 2 * i))) * std::cos(kTwoPi * UnitAt(p.stream, 2 * i + 1));
  }
  // The part of the normal distribution within two deviations.
  const double least = 0.5 * std::erfc(std::numbers::sqrt2);
  return p.a + p.b * NormalQuantile(least + (1 - least - least) * UnitAt(p.stream, i));
}

template <class T>
int Random(void* stream, const RandomParams& p, int64_t n, T* out) {
  return ForEach(stream, n,
                 [=] AMPC_DEVICE(int64_t i) { Store(out[i], static_cast<ComputeType<T>>(ValueAt(p, static_cast<uint64_t>(i)))); });
}

}  // namespace

int LaunchRandom(void* stream, const RandomParams& p, int64_t n, void* out) {
  return VisitFloat(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Random<T>(stream, p, n, static_cast<T*>(out));
  });
}

}  // namespace ampc::cuda
