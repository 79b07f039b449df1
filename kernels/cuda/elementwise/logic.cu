#include "kernels/cuda/elementwise/logic.h"

#include "kernels/common/logic_functors.h"

namespace ampc::cuda {
namespace {

template <class F>
struct Logic {
  AMPC_HOST_DEVICE const Logic& Prepare() const { return *this; }
  template <class... C>
  AMPC_HOST_DEVICE auto operator()(C... v) const {
    return F::Apply(v...);
  }
};

// The complement of a bool, which is computed as an integer.
struct Flip {
  AMPC_HOST_DEVICE const Flip& Prepare() const { return *this; }
  AMPC_HOST_DEVICE int64_t operator()(int64_t x) const { return x == 0; }
};

template <class C, class F, int kIn>
int Launch(void* stream, const MapParams<kIn>& map) {
  return LaunchMap<C, kIn>(stream, map, Logic<F>{});
}

enum Number {
#define AMPC_ENUM(name) k##name,
  AMPC_COMPARISONS(AMPC_ENUM) AMPC_BIT_FUNCTORS(AMPC_ENUM) AMPC_TRUTH_FUNCTORS(AMPC_ENUM) kBitNot
#undef AMPC_ENUM
};

template <class C>
int LaunchTwo(void* stream, int op, const MapParams<2>& map) {
  switch (op) {
#define AMPC_CASE(name) \
  case k##name: return Launch<C, logic::name, 2>(stream, map);
    AMPC_COMPARISONS(AMPC_CASE)
#undef AMPC_CASE
    default: break;
  }
  if constexpr (std::is_same_v<C, int64_t>) {
    switch (op) {
#define AMPC_CASE(name) \
  case k##name: return Launch<C, logic::name, 2>(stream, map);
      AMPC_BIT_FUNCTORS(AMPC_CASE)
#undef AMPC_CASE
      default: break;
    }
  }
  return -1;
}

template <class C>
int LaunchOne(void* stream, int op, const MapParams<1>& map) {
  switch (op) {
#define AMPC_CASE(name) \
  case k##name: return Launch<C, logic::name, 1>(stream, map);
    AMPC_TRUTH_FUNCTORS(AMPC_CASE)
#undef AMPC_CASE
    default: break;
  }
  if constexpr (std::is_same_v<C, int64_t>) {
    return map.in[0].dtype == DType::kBool ? LaunchMap<C, 1>(stream, map, Flip{}) : Launch<C, logic::BitNot, 1>(stream, map);
  }
  return -1;
}

}  // namespace

int LaunchLogic(void* stream, int op, const MapParams<2>& map) {
  return VisitClass(map.in[0].dtype, [&](auto tag) { return LaunchTwo<typename decltype(tag)::Type>(stream, op, map); });
}

int LaunchTruth(void* stream, int op, const MapParams<1>& map) {
  return VisitClass(map.in[0].dtype, [&](auto tag) { return LaunchOne<typename decltype(tag)::Type>(stream, op, map); });
}

}  // namespace ampc::cuda
