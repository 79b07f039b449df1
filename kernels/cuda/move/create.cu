#include "kernels/cuda/move/create.h"

#include <type_traits>

#include "kernels/common/integer.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {
namespace {

template <class T>
AMPC_HOST_DEVICE inline T RangeAt(T start, T step, int64_t i) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(integer::Add(static_cast<int64_t>(start), integer::Mul(i, static_cast<int64_t>(step))));
  } else {
    return static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(step));
  }
}

template <class T>
int Range(void* stream, const T* start, const T* step, int64_t n, T* out) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) { out[i] = RangeAt(*start, *step, i); });
}

AMPC_HOST_DEVICE inline double Read(const DeviceNumber& n) {
  if (n.at == nullptr) return n.fixed;
  switch (n.type) {
    case DType::kF16: return static_cast<double>(Load(*static_cast<const Half*>(n.at)));
    case DType::kBF16: return static_cast<double>(Load(*static_cast<const BFloat16*>(n.at)));
    case DType::kF64: return *static_cast<const double*>(n.at);
    case DType::kI32: return static_cast<double>(*static_cast<const int32_t*>(n.at));
    case DType::kI64: return static_cast<double>(*static_cast<const int64_t*>(n.at));
    default: return static_cast<double>(*static_cast<const float*>(n.at));
  }
}

template <class T>
int Linspace(void* stream, const DeviceNumber& start, const DeviceNumber& stop, int64_t n, T* out) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
    using C = ComputeType<T>;
    const C first = static_cast<C>(Read(start)), last = static_cast<C>(Read(stop));
    const C step = n == 1 ? C(0) : (last - first) / static_cast<C>(n - 1);
    Store(out[i], n == 1 || i < n / 2 ? first + step * static_cast<C>(i) : last - step * static_cast<C>(n - i - 1));
  });
}

template <class T>
int Eye(void* stream, int64_t n, const Divider& columns, T* out) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
    const int64_t row = columns.Quotient(i);
    Store(out[i], static_cast<ComputeType<T>>(i - row * columns.divisor() == row ? 1 : 0));
  });
}

template <class T>
int OneHot(void* stream, DType index_type, const void* index, int64_t n, const Divider& depth, T* out) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) {
    const int64_t row = depth.Quotient(i);
    const int64_t at = index_type == DType::kI32 ? static_cast<const int32_t*>(index)[row] : static_cast<const int64_t*>(index)[row];
    Store(out[i], static_cast<ComputeType<T>>(i - row * depth.divisor() == at ? 1 : 0));
  });
}

template <class T>
int Triangle(void* stream, const TriangleParams& p, const T* x, T* out) {
  const Divider columns(p.columns), rows(p.rows);
  return ForEach(stream, p.elements, [=] AMPC_DEVICE(int64_t i) {
    const int64_t line = columns.Quotient(i), column = i - line * p.columns, row = line - rows.Quotient(line) * p.rows;
    const int64_t edge = row + p.diagonal;
    out[i] = (p.lower ? column <= edge : column >= edge) ? x[i] : T{};
  });
}

}  // namespace

int LaunchRange(void* stream, DType type, const void* start, const void* step, int64_t n, void* out) {
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Range<T>(stream, static_cast<const T*>(start), static_cast<const T*>(step), n, static_cast<T*>(out));
  };
  switch (type) {
    case DType::kF32: return run(TypeTag<float>{});
    case DType::kF64: return run(TypeTag<double>{});
    case DType::kI32: return run(TypeTag<int32_t>{});
    case DType::kI64: return run(TypeTag<int64_t>{});
    default: return -1;
  }
}

int LaunchLinspace(void* stream, DType type, const DeviceNumber& start, const DeviceNumber& stop, int64_t n, void* out) {
  return VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Linspace<T>(stream, start, stop, n, static_cast<T*>(out));
  });
}

int LaunchEye(void* stream, DType type, int64_t rows, int64_t columns, void* out) {
  if (rows * columns == 0) return 0;
  return VisitReal(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Eye<T>(stream, rows * columns, Divider(columns), static_cast<T*>(out));
  });
}

int LaunchOneHot(void* stream, DType type, DType index_type, const void* index, int64_t n, int64_t depth, void* out) {
  if (n * depth == 0) return 0;
  return VisitReal(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return OneHot<T>(stream, index_type, index, n * depth, Divider(depth), static_cast<T*>(out));
  });
}

int LaunchTriangle(void* stream, const TriangleParams& p, const void* x, void* out) {
  if (p.elements == 0) return 0;
  return VisitWidth(p.size, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Triangle<T>(stream, p, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

}  // namespace ampc::cuda
