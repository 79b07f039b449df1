#include "kernels/cuda/elementwise/binary.h"

#include <limits>

namespace ampc::cuda {
namespace {

// Elements in class C.
template <class C, Op2 op>
struct Binary {
  AMPC_HOST_DEVICE const Binary& Prepare() const { return *this; }
  AMPC_HOST_DEVICE C operator()(C x, C y) const {
    C out;
    ComputeBinary(op, x, y, &out);
    return out;
  }
};

// With an exponent below 0 a power of integers saturates at the ends of their type; everything else wraps when it is stored.
struct IntegerPower {
  int64_t least, most;
  AMPC_HOST_DEVICE const IntegerPower& Prepare() const { return *this; }
  AMPC_HOST_DEVICE int64_t operator()(int64_t x, int64_t y) const {
    const int64_t v = integer::Pow(x, y);
    return y >= 0 ? v : v < least ? least : v > most ? most : v;
  }
};

int LaunchIntegerPower(void* stream, const MapParams<2>& map) {
  const auto launch = [&](auto zero) {
    using T = decltype(zero);
    return LaunchMap<int64_t, 2>(stream, map, IntegerPower{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()});
  };
  switch (map.out.dtype) {
    case DType::kU8: return launch(uint8_t());
    case DType::kI8: return launch(int8_t());
    case DType::kI16: return launch(int16_t());
    case DType::kI32: return launch(int32_t());
    default: return launch(int64_t());
  }
}

template <class C>
int LaunchClass(void* stream, Op2 op, const MapParams<2>& map) {
  switch (op) {
    case Op2::kAdd: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kAdd>{});
    case Op2::kSub: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kSub>{});
    case Op2::kMul: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kMul>{});
    case Op2::kDiv: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kDiv>{});
    case Op2::kMax: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kMax>{});
    case Op2::kMin: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kMin>{});
    case Op2::kFMax: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kFMax>{});
    case Op2::kFMin: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kFMin>{});
    case Op2::kMod: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kMod>{});
    case Op2::kFloorDiv: return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kFloorDiv>{});
    case Op2::kPow:
      if constexpr (std::is_same_v<C, int64_t>) return LaunchIntegerPower(stream, map);
      return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kPow>{});
    case Op2::kAtan2:
      if constexpr (!std::is_same_v<C, int64_t>) return LaunchMap<C, 2>(stream, map, Binary<C, Op2::kAtan2>{});
      return -1;
  }
  return -1;
}

}  // namespace

int LaunchBinary(void* stream, Op2 op, const MapParams<2>& map) {
  return VisitClass(map.out.dtype, [&](auto tag) { return LaunchClass<typename decltype(tag)::Type>(stream, op, map); });
}

}  // namespace ampc::cuda
