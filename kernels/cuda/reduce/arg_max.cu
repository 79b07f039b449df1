#include <limits>

#include "kernels/cuda/reduce/reduce.h"
#include "kernels/cuda/reduce/reduce_core.h"

namespace ampc::cuda {
namespace {

template <class Number>
struct Candidate {
  Number value;
  int64_t at;
};

template <class Number>
struct ArgExtreme {
  using Acc = Candidate<Number>;
  using Part = Acc;
  AnyInput x;
  AnyOutput out;
  bool largest;
  Number limit;

  AMPC_DEVICE bool Beyond(Number a, Number b) const { return largest ? a > b : a < b; }
  AMPC_DEVICE Acc Start() const { return {limit, 0}; }
  AMPC_DEVICE Part StartPart() const { return Start(); }
  AMPC_DEVICE Acc Widen(Part part) const { return part; }
  AMPC_DEVICE Acc Join(Acc a, Acc b) const {
    if (Beyond(a.value, b.value)) return a;
    if (Beyond(b.value, a.value)) return b;
    return a.at < b.at ? a : b;
  }
  template <int w>
  AMPC_DEVICE Acc Of(int64_t offset, int64_t i, int64_t) const {
    const Number value = x.Get<Number>(offset);
    return Beyond(value, limit) ? Acc{value, i} : Start();
  }
  template <int w>
  AMPC_DEVICE void Add(Part* part, int64_t offset, int64_t i, int64_t result) const {
    *part = Join(*part, Of<1>(offset, i, result));
  }
  AMPC_DEVICE void Finish(Acc acc, int64_t result) const { out.Set(result, acc.at); }
};

template <class Number>
int Launch(void* stream, bool largest, Number lowest, Number highest, const ReduceParams& p) {
  return Reduce<Bytes16>(stream, p.shape, ArgExtreme<Number>{p.x, p.out, largest, largest ? lowest : highest}, false, p.workspace);
}

// The limits of T.
template <class T, class Number>
int LaunchIn(void* stream, bool largest, const ReduceParams& p) {
  using Limits = std::numeric_limits<T>;
  return Launch<Number>(stream, largest, static_cast<Number>(Limits::lowest()), static_cast<Number>(Limits::max()), p);
}

}  // namespace

int LaunchArgExtreme(void* stream, bool largest, const ReduceParams& p) {
  switch (p.x.dtype) {
    case DType::kF64: return LaunchIn<double, double>(stream, largest, p);
    case DType::kU8: return LaunchIn<uint8_t, int64_t>(stream, largest, p);
    case DType::kI8: return LaunchIn<int8_t, int64_t>(stream, largest, p);
    case DType::kI16: return LaunchIn<int16_t, int64_t>(stream, largest, p);
    case DType::kI32: return LaunchIn<int32_t, int64_t>(stream, largest, p);
    case DType::kI64: return LaunchIn<int64_t, int64_t>(stream, largest, p);
    default: return LaunchIn<float, double>(stream, largest, p);
  }
}

}  // namespace ampc::cuda
