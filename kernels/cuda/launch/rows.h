// Rows: what kernels that work along one axis share. A row's functor is written once against a team; short rows, and many rows whose
// elements lie apart, are each one thread's, so that neighbouring threads read neighbouring elements.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {

// `outer` blocks of `inner` rows; the `size` elements of a row lie `inner` apart.
struct AxisRows {
  int64_t outer = 1, size = 1, inner = 1;
  AMPC_HOST_DEVICE int64_t rows() const { return outer * inner; }
  AMPC_HOST_DEVICE int64_t First(int64_t row) const { return inner == 1 ? row * size : row / inner * size * inner + row % inner; }
};

// Numbers that one access reads or writes.
template <class C, int kCount>
struct Values {
  C v[kCount];
};
template <int kCount>
struct Width {
  static constexpr int value = kCount;
};
template <class T>
inline constexpr int kPack = sizeof(T) < 16 ? static_cast<int>(16 / sizeof(T)) : 1;

// kCount > 1: `from` is aligned to the whole of them.
template <int kCount, class T>
AMPC_HOST_DEVICE inline Values<ComputeType<T>, kCount> LoadValues(const T* from) {
  struct alignas(kCount * sizeof(T)) Raw {
    T v[kCount];
  };
  const Raw raw = *reinterpret_cast<const Raw*>(from);
  Values<ComputeType<T>, kCount> values;
  for (int k = 0; k < kCount; ++k) values.v[k] = Load(raw.v[k]);
  return values;
}
template <int kCount, class T>
AMPC_HOST_DEVICE inline void StoreValues(T* to, const Values<ComputeType<T>, kCount>& values) {
  struct alignas(kCount * sizeof(T)) Raw {
    T v[kCount];
  } raw;
  for (int k = 0; k < kCount; ++k) Store(raw.v[k], values.v[k]);
  *reinterpret_cast<Raw*>(to) = raw;
}

// Rows of n elements, one after another, may be read in packs.
template <class T>
inline bool PacksFit(int64_t n, std::initializer_list<const void*> pointers) {
  for (const void* p : pointers) {
    if (reinterpret_cast<uintptr_t>(p) % (kPack<T> * sizeof(T)) != 0) return false;
  }
  return n % kPack<T> == 0;
}

// Calls f(i, Width<w>()) so that all of [0, n) are covered by [i, i + w).
template <class T, class Team, class F>
AMPC_DEVICE void ForRow(Team& team, int64_t n, bool packs, F f) {
  if (packs) {
    team.For(n / kPack<T>, [&](int64_t p) { f(p * kPack<T>, Width<kPack<T>>()); });
  } else {
    team.For(n, [&](int64_t i) { f(i, Width<1>()); });
  }
}
// combine over load(i, Width<w>()).
template <class T, class Team, class Acc, class L, class Combine>
AMPC_DEVICE Acc ReduceRow(Team& team, int64_t n, bool packs, Acc identity, L load, Combine combine) {
  if (packs)
    return team.Reduce(
        n / kPack<T>, identity, [&](int64_t p) { return load(p * kPack<T>, Width<kPack<T>>()); }, combine);
  return team.Reduce(
      n, identity, [&](int64_t i) { return load(i, Width<1>()); }, combine);
}

// A row in memory; packs only where the stride is 1.
template <class T>
struct Row {
  T* at;
  int64_t stride;
  template <int kCount>
  AMPC_DEVICE Values<ComputeType<std::remove_const_t<T>>, kCount> Get(int64_t i, Width<kCount>) const {
    return LoadValues<kCount>(at + i * stride);
  }
  template <int kCount, class C>
  AMPC_DEVICE void Set(int64_t i, const Values<C, kCount>& values) const {
    StoreValues<kCount>(at + i * stride, values);
  }
};

// One thread as a team; it has no shared memory.
class Solo {
 public:
  template <class F>
  AMPC_DEVICE void For(int64_t n, F f) {
    for (int64_t i = 0; i < n; ++i) f(i);
  }
  template <class T, class L, class Combine>
  AMPC_DEVICE T Reduce(int64_t n, T identity, L load, Combine combine) {
    T value = identity;
    for (int64_t i = 0; i < n; ++i) value = combine(value, load(i));
    return value;
  }
  template <class T, class L, class Combine, class S>
  AMPC_DEVICE void Scan(int64_t n, T identity, L load, Combine combine, S store) {
    T before = identity;
    for (int64_t i = 0; i < n; ++i) {
      const T after = combine(before, load(i));
      store(i, before, after);
      before = after;
    }
  }
  template <class F>
  AMPC_DEVICE void Once(F f) {
    f();
  }
  AMPC_DEVICE void* shared() const { return nullptr; }
};

template <class F>
struct SoloRow {
  F f;
  AMPC_DEVICE void operator()(int64_t row) const {
    Solo solo;
    f(solo, row);
  }
};

inline constexpr int64_t kSoloSize = 32;       // a row that is not worth a team
inline constexpr int64_t kSoloRows = 1 << 13;  // so many rows whose elements lie apart fill a device

// f(team, row) for each row of `size` elements; `apart`: those do not lie one after another. `shared_bytes` is 0 or what a row needs.
template <class F>
int ForEachRow(void* stream, int64_t rows, int64_t size, bool apart, int shared_bytes, F f) {
  if (size <= kSoloSize || (apart && rows >= kSoloRows)) return ForEach(stream, rows, SoloRow<F>{f});
  return ForEachTeam(stream, rows, size / 4, f, shared_bytes);
}

}  // namespace ampc::cuda
