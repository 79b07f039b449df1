#include "kernels/cuda/matmul/rows.h"

#include <type_traits>

#include "kernels/cuda/base/activate.h"
#include "kernels/cuda/base/load_single.h"
#include "kernels/cuda/base/visit_single.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

// Neighbours that a thread reads and writes at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

template <class T, int kCount>
struct FinishSome {
  FinishParams p;
  AMPC_HOST_DEVICE void operator()(int64_t pack) const {
    const int64_t i = pack * kCount, r = i / p.cols, c = i % p.cols;
    Pack<float, kCount> in = {};
    if (p.product != nullptr) in = reinterpret_cast<const Pack<float, kCount>*>(p.product)[pack];
    Pack<T, kCount> out;
    for (int k = 0; k < kCount; ++k) {
      float value = in.values[k];
      if (p.bias != nullptr) value += LoadSingle(p.bias, p.bias_type, c + k);
      if (p.addend != nullptr) value += p.factor * LoadSingle(p.addend, p.addend_type, r * p.row_stride + (c + k) * p.col_stride);
      Store(out.values[k], Activate(p.activation, value));
    }
    static_cast<Pack<T, kCount>*>(p.out)[pack] = out;
  }
};

template <class T>
int FinishAs(void* stream, const FinishParams& p) {
  if (p.cols % 4 == 0) return ForEach(stream, p.rows * p.cols / 4, FinishSome<T, 4>{p});
  return ForEach(stream, p.rows * p.cols, FinishSome<T, 1>{p});
}

template <class T>
struct SumOf {
  using Type = ComputeType<T>;
};
template <>
struct SumOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct SumOf<int64_t> {
  using Type = uint64_t;
};

template <class T>
struct DotOne {
  const T *x, *y;
  T* out;
  int64_t size;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    using Sum = typename SumOf<T>::Type;
    const T *a = x + r * size, *b = y + r * size;
    const Sum sum = team.Reduce(
        size, Sum(0), [a, b](int64_t i) { return static_cast<Sum>(static_cast<Sum>(Load(a[i])) * static_cast<Sum>(Load(b[i]))); }, Plus());
    T* const to = out + r;
    team.Once([to, sum] { Store(*to, static_cast<ComputeType<T>>(sum)); });
  }
};

template <class T>
int DotAs(void* stream, const void* x, const void* y, void* out, int64_t rows, int64_t size) {
  return ForEachTeam(stream, rows, size, DotOne<T>{static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out), size});
}

template <class T>
struct ScaleOne {
  const T *factors, *x;
  T* out;
  int64_t size;
  AMPC_HOST_DEVICE void operator()(int64_t i) const { Store(out[i], Load(factors[i / size]) * Load(x[i])); }
};

}  // namespace

int LaunchFinish(void* stream, const FinishParams& p) {
  return VisitSingle(p.out_type, [&](auto tag) { return FinishAs<typename decltype(tag)::Type>(stream, p); });
}

int LaunchDot(void* stream, DType type, const void* x, const void* y, void* out, int64_t rows, int64_t size) {
  switch (type) {
    case DType::kI32: return DotAs<int32_t>(stream, x, y, out, rows, size);
    case DType::kI64: return DotAs<int64_t>(stream, x, y, out, rows, size);
    default: return VisitFloat(type, [&](auto tag) { return DotAs<typename decltype(tag)::Type>(stream, x, y, out, rows, size); });
  }
}

int LaunchScaleRows(void* stream, DType type, const void* factors, const void* x, void* out, int64_t rows, int64_t size) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return ForEach(stream, rows * size, ScaleOne<T>{static_cast<const T*>(factors), static_cast<const T*>(x), static_cast<T*>(out), size});
  });
}

}  // namespace ampc::cuda
