#include "kernels/cpu/reduce/partials.h"

#include <algorithm>
#include <limits>

#include "graph/base/dtype_switch.h"
#include "kernels/common/functors.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/simd/reduce.h"

namespace ampc {
namespace {

template <Reduction op, typename Acc>
inline Acc Join(Acc a, Acc b) {
  if constexpr (op == Reduction::kAny) return static_cast<Acc>(a != 0 || b != 0);
  if constexpr (op == Reduction::kAll) return static_cast<Acc>(a != 0 && b != 0);
  if constexpr (std::is_floating_point_v<Acc>) {
    const functors::ScalarMath<Acc> m;
    if constexpr (op == Reduction::kMax) return functors::Max::Apply(m, a, b);
    if constexpr (op == Reduction::kMin) return functors::Min::Apply(m, a, b);
    if constexpr (op == Reduction::kProd) return a * b;
    return a + b;
  } else {
    if constexpr (op == Reduction::kMax) return std::max(a, b);
    if constexpr (op == Reduction::kMin) return std::min(a, b);
    if constexpr (op == Reduction::kProd) return integer::Mul(a, b);
    return integer::Add(a, b);
  }
}

template <Reduction op, typename Acc>
constexpr Acc Start() {
  using Limits = std::numeric_limits<Acc>;
  if constexpr (op == Reduction::kMax) return Limits::has_infinity ? -Limits::infinity() : Limits::min();
  if constexpr (op == Reduction::kMin) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return op == Reduction::kProd || op == Reduction::kAll ? Acc(1) : Acc(0);
}

template <typename T, typename Acc, Reduction op>
void Plain(const void* x, int64_t rows, int64_t stride, int64_t columns, Acc* out) {
  const T* in = static_cast<const T*>(x);
  std::fill(out, out + columns, Start<op, Acc>());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) out[c] = Join<op>(out[c], static_cast<Acc>(in[r * stride + c]));
  }
}

template <simd::ReduceOp op>
void FloatRun(const void* x, int64_t rows, int64_t, int64_t, double* out) {
  *out = simd::ReduceRun(op)(static_cast<const float*>(x), rows);
}

template <simd::ReduceOp op, Reduction join>
void FloatColumns(const void* x, int64_t rows, int64_t stride, int64_t columns, double* out) {
  const simd::ReduceColumnsFn reduce = simd::ReduceColumns(op);
  const float* in = static_cast<const float*>(x);
  float part[simd::kReduceColumns];
  std::fill(out, out + columns, Start<join, double>());
  for (int64_t r = 0; r < rows; r += simd::kReduceRows) {
    reduce(in + r * stride, std::min(simd::kReduceRows, rows - r), stride, columns, part);
    for (int64_t c = 0; c < columns; ++c) out[c] = Join<join>(out[c], static_cast<double>(part[c]));
  }
}

template <typename T, typename Acc>
PartialFn<Acc> FindPlain(Reduction op) {
  switch (op) {
    case Reduction::kMax: return &Plain<T, Acc, Reduction::kMax>;
    case Reduction::kMin: return &Plain<T, Acc, Reduction::kMin>;
    case Reduction::kProd: return &Plain<T, Acc, Reduction::kProd>;
    case Reduction::kAny: return &Plain<T, Acc, Reduction::kAny>;
    case Reduction::kAll: return &Plain<T, Acc, Reduction::kAll>;
    default: return &Plain<T, Acc, Reduction::kSum>;
  }
}

PartialFn<double> FindFloat(Reduction op, bool contiguous) {
  using simd::ReduceOp;
  switch (op) {
    case Reduction::kMax: return contiguous ? &FloatRun<ReduceOp::kMax> : &FloatColumns<ReduceOp::kMax, Reduction::kMax>;
    case Reduction::kMin: return contiguous ? &FloatRun<ReduceOp::kMin> : &FloatColumns<ReduceOp::kMin, Reduction::kMin>;
    case Reduction::kProd:
    case Reduction::kAny:
    case Reduction::kAll: return FindPlain<float, double>(op);
    default: return contiguous ? &FloatRun<ReduceOp::kSum> : &FloatColumns<ReduceOp::kSum, Reduction::kSum>;
  }
}

}  // namespace

template <>
PartialFn<double> FindPartial<double>(Reduction op, DType storage, bool contiguous) {
  if (storage == DType::kF32) return FindFloat(op, contiguous);
  return storage == DType::kF64 ? FindPlain<double, double>(op) : nullptr;
}

template <>
PartialFn<int64_t> FindPartial<int64_t>(Reduction op, DType storage, bool) {
  using Narrow = Types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, int64_t>;
  return Select<Narrow>(storage, [op](auto tag) { return FindPlain<typename decltype(tag)::type, int64_t>(op); });
}

template <>
PartialFn<uint64_t> FindPartial<uint64_t>(Reduction op, DType storage, bool) {
  return storage == DType::kU64 ? FindPlain<uint64_t, uint64_t>(op) : nullptr;
}

template <typename Acc>
Acc StartOf(Reduction op) {
  return op == Reduction::kMax    ? Start<Reduction::kMax, Acc>()
         : op == Reduction::kMin  ? Start<Reduction::kMin, Acc>()
         : op == Reduction::kProd ? Start<Reduction::kProd, Acc>()
         : op == Reduction::kAll  ? Start<Reduction::kAll, Acc>()
                                  : Start<Reduction::kSum, Acc>();
}

template <typename Acc>
Acc Combine(Reduction op, Acc a, Acc b) {
  return op == Reduction::kMax    ? Join<Reduction::kMax>(a, b)
         : op == Reduction::kMin  ? Join<Reduction::kMin>(a, b)
         : op == Reduction::kProd ? Join<Reduction::kProd>(a, b)
         : op == Reduction::kAny  ? Join<Reduction::kAny>(a, b)
         : op == Reduction::kAll  ? Join<Reduction::kAll>(a, b)
                                  : Join<Reduction::kSum>(a, b);
}

template double StartOf(Reduction op);
template int64_t StartOf(Reduction op);
template uint64_t StartOf(Reduction op);
template double Combine(Reduction op, double a, double b);
template int64_t Combine(Reduction op, int64_t a, int64_t b);
template uint64_t Combine(Reduction op, uint64_t a, uint64_t b);

}  // namespace ampc
