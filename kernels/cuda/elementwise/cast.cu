#include "kernels/cuda/elementwise/cast.h"

#include "kernels/common/integer.h"

namespace ampc::cuda {
namespace {

// The value in the stored type T.
template <class T, class C>
AMPC_HOST_DEVICE T Convert(C v) {
  T to{};
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    Store(to, static_cast<float>(v));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_floating_point_v<C>) {
    to = integer::FromFloat<T>(v);
  } else {
    Put(to, v);
  }
  return to;
}

template <class C, class T>
struct CastStep {
  const void* x;
  void* out;
  int64_t n;
  DType from;
  bool aligned;

  AMPC_DEVICE void operator()(int64_t step) const {
    constexpr int kN = kLanes<C>;
    const int64_t first = step * kN;
    const int count = LanesAt(first, n, kN);
    T* to = static_cast<T*>(out) + first;
    if (aligned && count == kN) {
      C v[kN];
      LoadPack(from, x, first, v);
      Pack<T, kN> r;
      AMPC_UNROLL
      for (int k = 0; k < kN; ++k) r.v[k] = Convert<T>(v[k]);
      *reinterpret_cast<Pack<T, kN>*>(to) = r;
      return;
    }
    for (int k = 0; k < count; ++k) to[k] = Convert<T>(LoadOne<C>(from, x, first + k));
  }
};

template <class C, class T>
int Launch(void* stream, DType from, const void* x, void* out, int64_t n) {
  return ForEach(stream, (n + kLanes<C> - 1) / kLanes<C>, CastStep<C, T>{x, out, n, from, IsAligned(x) && IsAligned(out)});
}

template <class C>
int LaunchFrom(void* stream, DType from, const void* x, DType to, void* out, int64_t n) {
  return VisitReal(to, [&](auto tag) { return Launch<C, typename decltype(tag)::Type>(stream, from, x, out, n); });
}

}  // namespace

int LaunchCast(void* stream, DType from, const void* x, DType to, void* out, int64_t n) {
  return VisitClass(from, [&](auto tag) { return LaunchFrom<typename decltype(tag)::Type>(stream, from, x, to, out, n); });
}

}  // namespace ampc::cuda
