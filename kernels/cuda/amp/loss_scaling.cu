#include "kernels/cuda/amp/loss_scaling.h"

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/cuda/multi_tensor/vectors.h"

namespace ampc::cuda {
namespace {

// 8 halves, 4 floats, 2 doubles.
template <class T>
inline constexpr int kRun = kAccessBytes / static_cast<int>(sizeof(T));

// x * inverse of kCount elements; false when one of the results is infinite or NaN as T, or, where `out` is null, as what is computed in.
template <int kCount, class T>
AMPC_HOST_DEVICE bool UnscaleRun(const T* x, T* out, ComputeType<T> inverse) {
  ComputeType<T> values[kCount];
  LoadRun<kCount>(x, values);
  bool finite = true;
  for (int k = 0; k < kCount; ++k) {
    values[k] = values[k] * inverse;
    if (out != nullptr) {
      T rounded;
      Store(rounded, values[k]);
      values[k] = Load(rounded);
    }
    finite = finite & (values[k] - values[k] == 0);
  }
  if (out != nullptr) StoreRun<kCount>(out, values);
  return finite;
}

struct Unscale {
  const double* inverse;
  bool* found;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const UnscaleTensor& t, const TensorPlace&, int64_t begin, int64_t n) const {
    switch (t.type) {
      case DType::kF16: return Run<Half>(team, t, begin, n);
      case DType::kBF16: return Run<BFloat16>(team, t, begin, n);
      case DType::kF64: return Run<double>(team, t, begin, n);
      default: return Run<float>(team, t, begin, n);
    }
  }

  template <class T, class Team>
  AMPC_DEVICE void Run(Team& team, const UnscaleTensor& t, int64_t begin, int64_t n) const {
    const T* x = static_cast<const T*>(t.x) + begin;
    T* out = t.out == nullptr ? nullptr : static_cast<T*>(t.out) + begin;
    const bool aligned = IsAligned(x) && IsAligned(out);
    const ComputeType<T> by = static_cast<ComputeType<T>>(*inverse);
    bool* const bad = found;
    team.For((n + kRun<T> - 1) / kRun<T>, [=](int64_t i) {
      const int64_t at = i * kRun<T>;
      bool finite = true;
      if (aligned && at + kRun<T> <= n) {
        finite = UnscaleRun<kRun<T>>(x + at, out == nullptr ? out : out + at, by);
      } else {
        for (int64_t k = at; k < n && k < at + kRun<T>; ++k) finite = UnscaleRun<1>(x + k, out == nullptr ? out : out + k, by) && finite;
      }
      if (!finite) SetFlag(bad);
    });
  }
};

struct ZeroOrCopy {
  const bool* found;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const ScalingTensor& t, const TensorPlace&, int64_t begin, int64_t n) const {
    const bool zero = *found;
    if (!zero && t.x == t.out) return;
    const char* x = static_cast<const char*>(t.x);
    char* out = static_cast<char*>(t.out);
    const int64_t bytes = t.bytes;
    const bool aligned = IsAligned(x) && IsAligned(out);
    team.For(n, [=](int64_t i) {
      const int64_t at = (begin + i) * kAccessBytes;
      if (aligned && at + kAccessBytes <= bytes) {
        using Piece = Vector<uint32_t, 4>;
        *reinterpret_cast<Piece*>(out + at) = zero ? Piece{} : *reinterpret_cast<const Piece*>(x + at);
      } else {
        for (int64_t k = at; k < bytes && k < at + kAccessBytes; ++k) out[k] = zero ? 0 : x[k];
      }
    });
  }
};

template <class T>
AMPC_HOST_DEVICE void UpdateState(const ScalingParams& p) {
  LossScaleState<T> state{*static_cast<const T*>(p.scale), *p.good, *p.bad};
  const bool stop = p.always_stop || (p.stop != nullptr && *p.stop);
  if (!stop) state = NextLossScale(state, *p.found, p.policy);
  if (p.scale_out != nullptr) *static_cast<T*>(p.scale_out) = state.scale;
  if (p.good_out != nullptr) *p.good_out = state.good;
  if (p.bad_out != nullptr) *p.bad_out = state.bad;
}

}  // namespace

int LaunchUnscale(void* stream, const UnscaleTensor* tensors, int64_t n, const UnscaleParams& p) {
  const int code = ForEach(stream, 1, [p] AMPC_DEVICE(int64_t) {
    *p.inverse = 1 / p.scale.Get();
    *p.found = false;
  });
  return code != 0 ? code : ForEachChunk(stream, tensors, n, Unscale{p.inverse, p.found});
}

int LaunchUpdateScaling(void* stream, const ScalingTensor* tensors, int64_t n, const ScalingParams& p) {
  const int code = ForEachChunk(stream, tensors, n, ZeroOrCopy{p.found});
  if (code != 0) return code;
  return ForEach(stream, 1, [p] AMPC_DEVICE(int64_t) { p.is_double ? UpdateState<double>(p) : UpdateState<float>(p); });
}

}  // namespace ampc::cuda
