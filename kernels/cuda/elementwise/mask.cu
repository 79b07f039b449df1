#include "kernels/cuda/elementwise/mask.h"

#include "kernels/common/keep_mask.h"
#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {
namespace {

template <class T>
struct WhereStep {
  static constexpr int kN = 8;
  const bool* condition;
  const T *x, *y;
  T* out;
  int64_t n;
  bool aligned;

  AMPC_DEVICE void operator()(int64_t step) const {
    const int64_t first = step * kN;
    if (aligned && n - first >= kN) {
      const auto c = *reinterpret_cast<const Pack<bool, kN>*>(condition + first);
      const auto a = *reinterpret_cast<const Pack<T, kN>*>(x + first);
      auto b = *reinterpret_cast<const Pack<T, kN>*>(y + first);
      AMPC_UNROLL
      for (int k = 0; k < kN; ++k) {
        if (c.v[k]) b.v[k] = a.v[k];
      }
      *reinterpret_cast<Pack<T, kN>*>(out + first) = b;
      return;
    }
    for (int64_t i = first; i < n && i < first + kN; ++i) out[i] = condition[i] ? x[i] : y[i];
  }
};

template <class T>
int Where(void* stream, const void* condition, const void* x, const void* y, void* out, int64_t n) {
  const bool aligned = IsAligned(condition) && IsAligned(x) && IsAligned(y) && IsAligned(out);
  return ForEach(stream, (n + WhereStep<T>::kN - 1) / WhereStep<T>::kN,
                 WhereStep<T>{static_cast<const bool*>(condition), static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out),
                              n, aligned});
}

// The mask's values for [first, first + count).
template <int kN>
AMPC_HOST_DEVICE void ReadMask(const uint8_t* mask, bool aligned, int64_t first, int count, uint8_t (&v)[kN]) {
  if (aligned && count == kN) {
    const auto pack = *reinterpret_cast<const Pack<uint8_t, kN>*>(mask + first);
    AMPC_UNROLL
    for (int k = 0; k < kN; ++k) v[k] = pack.v[k];
    return;
  }
  AMPC_UNROLL
  for (int k = 0; k < kN; ++k) v[k] = k < count ? mask[first + k] : 0;
}

template <class C>
struct MaskStep {
  MaskParams p;
  bool aligned[3];

  AMPC_DEVICE void operator()(int64_t step) const {
    const int64_t first = step * kLanes<C>;
    const int count = LanesAt(first, p.n, kLanes<C>);
    C v[kLanes<C>];
    uint8_t keep[kLanes<C>];
    ReadLanes<C>({}, {p.g, p.dtype}, aligned[0], first, count, v);
    ReadMask(static_cast<const uint8_t*>(p.mask), aligned[1], first, count, keep);
    AMPC_UNROLL
    for (int k = 0; k < kLanes<C>; ++k) v[k] = (keep[k] != 0) != p.inverse ? v[k] * static_cast<C>(p.factor) : C(0);
    WriteLanes<C>({p.out, p.dtype}, aligned[2], first, count, v);
  }
};

template <class C>
int Mask(void* stream, const MaskParams& p) {
  return ForEach(stream, (p.n + kLanes<C> - 1) / kLanes<C>, MaskStep<C>{p, {IsAligned(p.g), IsAligned(p.mask), IsAligned(p.out)}});
}

template <class C>
struct DropoutStep {
  DropoutParams p;
  bool aligned[3];

  AMPC_DEVICE void operator()(int64_t step) const {
    const int64_t first = step * kLanes<C>;
    const int count = LanesAt(first, p.n, kLanes<C>);
    const uint64_t key = MixBits(static_cast<uint64_t>(static_cast<int64_t>(p.seed.Get())) ^ p.own);
    C v[kLanes<C>];
    ReadLanes<C>({}, {p.x, p.dtype}, aligned[0], first, count, v);
    Pack<uint8_t, kLanes<C>> keep;
    AMPC_UNROLL
    for (int k = 0; k < kLanes<C>; ++k) {
      keep.v[k] = Keep(key, static_cast<uint64_t>(first + k), p.threshold) ? 1 : 0;
      v[k] = keep.v[k] != 0 ? v[k] * static_cast<C>(p.factor) : C(0);
    }
    WriteLanes<C>({p.out, p.dtype}, aligned[1], first, count, v);
    if (p.mask == nullptr) return;
    uint8_t* mask = static_cast<uint8_t*>(p.mask) + first;
    if (aligned[2] && count == kLanes<C>) {
      *reinterpret_cast<Pack<uint8_t, kLanes<C>>*>(mask) = keep;
      return;
    }
    AMPC_UNROLL
    for (int k = 0; k < kLanes<C>; ++k) {
      if (k < count) mask[k] = keep.v[k];
    }
  }
};

template <class C>
int Dropout(void* stream, const DropoutParams& p) {
  return ForEach(stream, (p.n + kLanes<C> - 1) / kLanes<C>, DropoutStep<C>{p, {IsAligned(p.x), IsAligned(p.out), IsAligned(p.mask)}});
}

}  // namespace

int LaunchWhere(void* stream, int64_t bytes, const void* condition, const void* x, const void* y, void* out, int64_t n) {
  return VisitWidth(bytes, [&](auto tag) { return Where<typename decltype(tag)::Type>(stream, condition, x, y, out, n); });
}

int LaunchMask(void* stream, const MaskParams& p) { return p.dtype == DType::kF64 ? Mask<double>(stream, p) : Mask<float>(stream, p); }

int LaunchDropout(void* stream, const DropoutParams& p) {
  return p.dtype == DType::kF64 ? Dropout<double>(stream, p) : Dropout<float>(stream, p);
}

}  // namespace ampc::cuda
