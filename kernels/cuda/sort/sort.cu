#include "kernels/cuda/sort/sort.h"

#include <type_traits>

#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

template <class To, class From>
AMPC_HOST_DEVICE inline To BitsOf(From value) {
  static_assert(sizeof(To) == sizeof(From));
  union {
    From from;
    To to;
  } u;
  u.from = value;
  return u.to;
}

// Unsigned numbers in the order of the values.
template <class T>
AMPC_HOST_DEVICE inline uint64_t AscendingKey(T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    if (value != value) return static_cast<Bits>(~Bits{0});
    const Bits bits = value == 0 ? Bits{0} : BitsOf<Bits>(value);
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  } else if constexpr (std::is_signed_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<Bits>(static_cast<Bits>(value) ^ static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1)));
  } else {
    return value;
  }
}

template <class T>
AMPC_HOST_DEVICE inline uint64_t KeyOf(const T& x, bool descending) {
  const uint64_t key = AscendingKey<ComputeType<T>>(Load(x));
  constexpr uint64_t kAll = ~uint64_t{0} >> (64 - 8 * sizeof(ComputeType<T>));
  return descending ? ~key & kAll : key;
}

// Of element j of a line, in the operand (size: elements of a line there) or a result (size: kept).
AMPC_HOST_DEVICE inline int64_t At(const SortLines& p, int64_t line, int64_t j, int64_t size) {
  return (line / p.inner * size + j) * p.inner + line % p.inner;
}

template <class T>
int Keys(void* stream, const SortLines& p, const T* x, uint64_t* keys) {
  return ForEach(stream, p.outer * p.size * p.inner, [=] AMPC_DEVICE(int64_t i) {
    const int64_t line = i / p.size;
    keys[i] = KeyOf(x[At(p, line, i - line * p.size, p.size)], p.descending);
  });
}

template <class T>
int Take(void* stream, const SortLines& p, const T* x, const uint32_t* order, T* out, int64_t* indices) {
  return ForEach(stream, p.outer * p.inner * p.kept, [=] AMPC_DEVICE(int64_t i) {
    const int64_t line = i / p.kept, j = i - line * p.kept, from = static_cast<int64_t>(order[line * p.size + j]) - line * p.size;
    const int64_t to = At(p, line, j, p.kept);
    out[to] = x[At(p, line, from, p.size)];
    indices[to] = from;
  });
}

struct Ranked {
  uint64_t key;
  int64_t index;
};

AMPC_HOST_DEVICE inline bool Before(const Ranked& a, const Ranked& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }

struct Earlier {
  AMPC_HOST_DEVICE Ranked operator()(const Ranked& a, const Ranked& b) const { return Before(b, a) ? b : a; }
};

template <class T>
struct SelectLine {
  SortLines p;
  const T* x;
  T* out;
  int64_t* indices;

  template <class TeamType>
  AMPC_DEVICE void operator()(TeamType& team, int64_t line) const {
    const SelectLine& s = *this;
    const Ranked none = {~uint64_t{0}, INT64_MAX};
    Ranked last = {0, -1};
    for (int64_t j = 0; j < p.kept; ++j) {
      const auto load = [&s, last, none, line](int64_t i) {
        const Ranked r = {KeyOf(s.x[At(s.p, line, i, s.p.size)], s.p.descending), i};
        return Before(last, r) ? r : none;
      };
      last = team.Reduce(p.size, none, load, Earlier());
      team.Once([&s, last, line, j] {
        const int64_t to = At(s.p, line, j, s.p.kept);
        s.out[to] = s.x[At(s.p, line, last.index, s.p.size)];
        s.indices[to] = last.index;
      });
    }
  }
};

template <class F>
int VisitSorted(DType type, F f) {
  return type == DType::kBool || type == DType::kI8 ? -1 : VisitReal(type, f);
}

}  // namespace

int LaunchCount(void* stream, uint32_t* numbers, int64_t n) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) { numbers[i] = static_cast<uint32_t>(i); });
}

int LaunchSortKeys(void* stream, const SortLines& p, const void* x, uint64_t* keys) {
  return VisitSorted(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Keys<T>(stream, p, static_cast<const T*>(x), keys);
  });
}

int LaunchLineOf(void* stream, const uint32_t* in, uint32_t* out, int64_t n, int64_t size) {
  return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) { out[i] = static_cast<uint32_t>(in[i] / size); });
}

int LaunchTakeSorted(void* stream, const SortLines& p, const void* x, const uint32_t* order, void* out, int64_t* indices) {
  return VisitSorted(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return Take<T>(stream, p, static_cast<const T*>(x), order, static_cast<T*>(out), indices);
  });
}

int LaunchSelect(void* stream, const SortLines& p, const void* x, void* out, int64_t* indices) {
  return VisitSorted(p.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return ForEachTeam(stream, p.outer * p.inner, p.size, SelectLine<T>{p, static_cast<const T*>(x), static_cast<T*>(out), indices});
  });
}

}  // namespace ampc::cuda
