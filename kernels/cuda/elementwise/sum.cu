#include "kernels/cuda/elementwise/sum.h"

#include <cmath>

#include "kernels/common/integer.h"

namespace ampc::cuda {
namespace {

template <class C>
struct SumStep {
  SumParams p;
  bool aligned;  // everything

  AMPC_DEVICE void operator()(int64_t step) const {
    const int64_t first = step * kLanes<C>;
    const int count = LanesAt(first, p.n, kLanes<C>);
    C sum[kLanes<C>], v[kLanes<C>];
    ReadLanes<C>({}, {p.in[0], p.dtype[0]}, aligned, first, count, sum);
    for (int i = 1; i < p.terms; ++i) {
      ReadLanes<C>({}, {p.in[i], p.dtype[i]}, aligned, first, count, v);
      AMPC_UNROLL
      for (int k = 0; k < kLanes<C>; ++k) {
        if constexpr (std::is_integral_v<C>) {
          sum[k] = integer::Add(sum[k], v[k]);
        } else {
          sum[k] = sum[k] + v[k];
        }
      }
    }
    WriteLanes<C>(p.out, aligned, first, count, sum);
  }
};

template <class C>
int Sum(void* stream, const SumParams& p) {
  bool aligned = IsAligned(p.out.data);
  for (int i = 0; i < p.terms; ++i) aligned = aligned && IsAligned(p.in[i]);
  return ForEach(stream, (p.n + kLanes<C> - 1) / kLanes<C>, SumStep<C>{p, aligned});
}

struct Prelu {
  AMPC_HOST_DEVICE const Prelu& Prepare() const { return *this; }
  template <class C>
  AMPC_HOST_DEVICE C operator()(C x, C alpha) const {
    return x < 0 ? alpha * x : x;
  }
};

struct Affine {
  AMPC_HOST_DEVICE const Affine& Prepare() const { return *this; }
  AMPC_HOST_DEVICE float operator()(float x, float scale, float bias) const { return std::fma(x, scale, bias); }
};

}  // namespace

int LaunchSum(void* stream, const SumParams& p) {
  return VisitClass(p.out.dtype, [&](auto tag) { return Sum<typename decltype(tag)::Type>(stream, p); });
}

int LaunchPrelu(void* stream, const MapParams<2>& map) {
  return map.out.dtype == DType::kF64 ? LaunchMap<double, 2>(stream, map, Prelu{}) : LaunchMap<float, 2>(stream, map, Prelu{});
}

int LaunchAffine(void* stream, const MapParams<3>& map) { return LaunchMap<float, 3>(stream, map, Affine{}); }

}  // namespace ampc::cuda
