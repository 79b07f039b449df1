#include "kernels/cuda/index/index.h"

#include <cmath>
#include <cstring>

#include "kernels/cuda/index/positions.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {
namespace {

template <class T>
AMPC_HOST_DEVICE inline T First(const Missing& missing) {
  T value;
  memcpy(&value, missing.bytes, sizeof(T));
  return value;
}

template <class T>
int Take(void* stream, const TakeParams& p, const T* x, T* out) {
  const Divider units(p.bytes / static_cast<int64_t>(sizeof(T))), count(p.count);
  return ForEach(stream, p.outer * p.count * units.divisor(), [=] AMPC_DEVICE(int64_t i) {
    const int64_t row = units.Quotient(i), unit = i - row * units.divisor(), outer = count.Quotient(row);
    const int64_t at = PositionOf(p.at, row - outer * count.divisor());
    out[i] = at >= 0 ? x[(outer * p.slots + at) * units.divisor() + unit] : at == kPadding ? T{} : First<T>(p.missing);
  });
}

template <class T>
int TakeAlong(void* stream, const AlongAxis& a, const Missing& missing, const T* x, T* out) {
  return ForEach(stream, a.outer * a.count * a.inner, [=] AMPC_DEVICE(int64_t i) {
    const int64_t at = PositionAlong(a, i);
    out[i] = at < 0 ? First<T>(missing) : x[at];
  });
}

template <class T>
int MaskKeys(void* stream, const T* mask, int64_t n, uint32_t* keys) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) { keys[i] = Load(mask[i]) != ComputeType<T>(0) ? 0 : 1; });
}

template <class T>
int ZeroRows(void* stream, const Positions& at, int64_t count, int64_t units, T* to) {
  const Divider row(units);
  return ForEach(stream, count * units, [=] AMPC_DEVICE(int64_t i) {
    const int64_t r = row.Quotient(i), position = PositionOf(at, r);
    if (position >= 0) to[position * units + (i - r * units)] = T{};
  });
}

template <class T>
int Unselect(void* stream, const uint32_t* keys, const uint32_t* order, int64_t count, const T* from, T* to) {
  return ForEach(stream, count, [=] AMPC_DEVICE(int64_t i) {
    if (keys[i] == 0) to[order[i]] = from[i];
  });
}

}  // namespace

Missing MissingValue(DType type) {
  Missing missing;
  VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T value;
    Store(value, static_cast<ComputeType<T>>(NAN));
    for (size_t i = 0; i < sizeof(missing.bytes); i += sizeof(T)) memcpy(missing.bytes + i, &value, sizeof(T));
    return 0;
  });
  return missing;
}

int LaunchTake(void* stream, const TakeParams& p, const void* x, void* out) {
  if (p.outer * p.count * p.bytes == 0) return 0;
  return VisitWidth(UnitOf(p.bytes, x, out), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Take<T>(stream, p, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

int LaunchTakeAlong(void* stream, const AlongAxis& a, int64_t size, const Missing& missing, const void* x, void* out) {
  return VisitWidth(size, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return TakeAlong<T>(stream, a, missing, static_cast<const T*>(x), static_cast<T*>(out));
  });
}

int LaunchKeys(void* stream, const Positions& at, int64_t count, int64_t slots, uint32_t* keys) {
  return ForEach(stream, count, [=] AMPC_DEVICE(int64_t i) {
    const int64_t position = PositionOf(at, i);
    keys[i] = static_cast<uint32_t>(position < 0 ? slots : position);
  });
}

int LaunchKeysAlong(void* stream, const AlongAxis& a, uint32_t* keys) {
  return ForEach(stream, a.outer * a.count * a.inner, [=] AMPC_DEVICE(int64_t i) {
    const int64_t position = PositionAlong(a, i);
    keys[i] = static_cast<uint32_t>(position < 0 ? a.outer * a.slots * a.inner : position);
  });
}

int LaunchMaskKeys(void* stream, DType type, const void* mask, int64_t n, uint32_t* keys) {
  return VisitReal(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return MaskKeys<T>(stream, static_cast<const T*>(mask), n, keys);
  });
}

int LaunchZeroRows(void* stream, const Positions& at, int64_t count, int64_t slots, int64_t bytes, void* to) {
  if (count * bytes * slots == 0) return 0;
  return VisitWidth(UnitOf(bytes, to, nullptr), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return ZeroRows<T>(stream, at, count, bytes / static_cast<int64_t>(sizeof(T)), static_cast<T*>(to));
  });
}

int LaunchUnselect(void* stream, const uint32_t* keys, const uint32_t* order, int64_t count, int64_t size, const void* from, void* to) {
  return VisitWidth(size, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Unselect<T>(stream, keys, order, count, static_cast<const T*>(from), static_cast<T*>(to));
  });
}

}  // namespace ampc::cuda
