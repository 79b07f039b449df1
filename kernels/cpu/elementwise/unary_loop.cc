#include "kernels/cpu/elementwise/unary_loop.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/number_input.h"
#include "kernels/halves.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using functors::Params;
using simd::UnaryOp;

template <class F>
void DoubleLoop(const void* x, void* out, int64_t n, const Params<double>& params, const Params<int64_t>&) {
  const double* in = static_cast<const double*>(x);
  double* o = static_cast<double*>(out);
  const Params<double> p = params;
  for (int64_t i = 0; i < n; ++i) o[i] = F::Apply(functors::ScalarMath<double>{}, in[i], p);
}

template <typename T, UnaryOp op>
T Compute(T x, T a, T b) {
  if constexpr (op == UnaryOp::kRelu) return x > 0 ? x : T(0);
  if constexpr (op == UnaryOp::kAbs) return std::is_signed_v<T> && x < 0 ? integer::Sub(T(0), x) : x;
  if constexpr (op == UnaryOp::kTrunc) return x;
  if constexpr (op == UnaryOp::kSign) return static_cast<T>((x > 0) - (x < 0));
  if constexpr (op == UnaryOp::kSquare) return integer::Mul(x, x);
  if constexpr (op == UnaryOp::kPowScalar) return integer::Pow(x, a);
  if constexpr (op == UnaryOp::kScaleThenBias) return integer::Add(integer::Mul(x, a), b);
  if constexpr (op == UnaryOp::kBiasThenScale) return integer::Mul(integer::Add(x, b), a);
  if constexpr (op == UnaryOp::kClip) {
    const T y = x < a ? a : x;
    return b < y ? b : y;
  }
}

template <typename T>
T Nearest(int64_t v) {
  using Limits = std::numeric_limits<T>;
  if constexpr (sizeof(T) == sizeof(v)) return static_cast<T>(v);
  return std::cmp_less(v, Limits::min()) ? Limits::min() : std::cmp_greater(v, Limits::max()) ? Limits::max() : static_cast<T>(v);
}

template <typename T, UnaryOp op>
void IntegerLoop(const void* x, void* out, int64_t n, const Params<double>&, const Params<int64_t>& params) {
  const T* in = static_cast<const T*>(x);
  T* o = static_cast<T*>(out);
  const T a = Nearest<T>(params.a), b = Nearest<T>(params.b);
  for (int64_t i = 0; i < n; ++i) o[i] = Compute<T, op>(in[i], a, b);
}

using PlainFn = void (*)(const void*, void*, int64_t, const Params<double>&, const Params<int64_t>&);

template <typename T>
PlainFn FindInteger(UnaryOp op) {
  switch (op) {
    case UnaryOp::kRelu: return &IntegerLoop<T, UnaryOp::kRelu>;
    case UnaryOp::kAbs: return &IntegerLoop<T, UnaryOp::kAbs>;
    case UnaryOp::kSquare: return &IntegerLoop<T, UnaryOp::kSquare>;
    case UnaryOp::kTrunc: return &IntegerLoop<T, UnaryOp::kTrunc>;
    case UnaryOp::kSign: return &IntegerLoop<T, UnaryOp::kSign>;
    case UnaryOp::kClip: return &IntegerLoop<T, UnaryOp::kClip>;
    case UnaryOp::kPowScalar: return &IntegerLoop<T, UnaryOp::kPowScalar>;
    case UnaryOp::kScaleThenBias: return &IntegerLoop<T, UnaryOp::kScaleThenBias>;
    case UnaryOp::kBiasThenScale: return &IntegerLoop<T, UnaryOp::kBiasThenScale>;
    default: return nullptr;
  }
}

PlainFn FindDouble(UnaryOp op) {
#define AMPC_ENTRY(name) &DoubleLoop<functors::name>,
  static constexpr PlainFn kTable[] = {AMPC_UNARY_FUNCTORS(AMPC_ENTRY)};
#undef AMPC_ENTRY
  return kTable[static_cast<int>(op)];
}

// Functions of a few instructions are bound by memory; the others cost nanoseconds.
bool IsCheap(UnaryOp op) {
  switch (op) {
#define AMPC_CASE(name) case UnaryOp::k##name:
    AMPC_CHEAP_FUNCTORS(AMPC_CASE)
#undef AMPC_CASE
    return true;
    default: return false;
  }
}

}  // namespace

UnaryLoop::UnaryLoop(UnaryOp op, DType dtype, int64_t elements)
    : dtype_(dtype), elements_(elements), grain_(IsCheap(op) ? 1 << 15 : 1 << 12) {
  const DType storage = StorageType(dtype);
  size_ = static_cast<int64_t>(SizeOf(storage));
  if (storage == DType::kF32) {
    vector_ = simd::Unary(op);
  } else {
    plain_ = FindPlain(op, storage);
  }
}

bool UnaryLoop::Supports(UnaryOp op, DType dtype) { return StorageType(dtype) == DType::kF32 || FindPlain(op, dtype) != nullptr; }

UnaryLoop::PlainFn UnaryLoop::FindPlain(UnaryOp op, DType storage) {
  if (storage == DType::kF64) return FindDouble(op);
  return Select<Integers>(storage, [op](auto tag) { return FindInteger<typename decltype(tag)::type>(op); });
}

void UnaryLoop::Run(const Params<double>& p, const KernelArgs& args) const {
  Run(p, {IntegerIn(p.a, dtype_), IntegerIn(p.b, dtype_), IntegerIn(p.c, dtype_)}, args);
}

void UnaryLoop::Run(const Params<double>& params, const Params<int64_t>& integers, const KernelArgs& args) const {
  const char* x = static_cast<const char*>(args.inputs[0]);
  char* out = static_cast<char*>(args.outputs[0]);
  const Params<float> narrow{static_cast<float>(params.a), static_cast<float>(params.b), static_cast<float>(params.c)};
  ParallelFor(args.threads, elements_, grain_, [&](int64_t first, int64_t last) {
    if (vector_ != nullptr) {
      RunFloats(narrow, x, out, first, last);
    } else {
      plain_(x + first * size_, out + first * size_, last - first, params, integers);
    }
  });
}

UnaryLoop& UnaryLoop::Stored(DType x, DType out) {
  if (vector_ != nullptr) {
    x_ = x;
    out_ = out;
  }
  return *this;
}

void UnaryLoop::RunFloats(const Params<float>& params, const void* x, void* out, int64_t first, int64_t last) const {
  const int64_t tile = x_ == DType::kF32 && out_ == DType::kF32 ? last - first : kHalfTile;
  float from[kHalfTile], to[kHalfTile];
  for (int64_t i = first; i < last; i += tile) {
    const int64_t n = std::min(tile, last - i);
    vector_(FloatsAt(x, x_, i, n, from), RoomAt(out, out_, i, to), static_cast<size_t>(n), params);
    StoreFloats(to, out_, i, n, out);
  }
}

KernelTraits UnaryLoop::traits() const {
  KernelTraits traits;
  traits.in_place_input = 0;
  if (vector_ != nullptr) traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  return traits;
}

}  // namespace ampc
