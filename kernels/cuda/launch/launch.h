// Launch: the ways in which a device's threads share work. Device code is written once against this header: nvcc compiles it to kernels,
// a host compiler to loops that an emulated stream runs (kernels/device/emulated), so every index it computes is tested without a device.
//
//   int LaunchScale(void* stream, const float* x, float* y, int64_t n, float a) {
//     return ForEach(stream, n, [=] AMPC_DEVICE(int64_t i) { y[i] = a * x[i]; });
//   }
//
// Functors are copied to the device: they hold pointers and numbers, nothing that owns. Code that runs there is marked AMPC_DEVICE. nvcc
// wants such a lambda outside of generic lambdas and private functions; where a type is chosen by Visit*, call a function template that has
// it. A launcher returns 0, or a code for Device::LaunchStatus. No work (n == 0) is no launch.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/cuda/launch/team_memory.h"

#if defined(__CUDACC__)
#include "kernels/cuda/launch/launch_cuda.h"
#else
#include "kernels/cuda/launch/launch_host.h"
#endif

namespace ampc::cuda {

// f(int64_t i) for each i in [0, n), in any order and at the same time.
template <class F>
int ForEach(void* stream, int64_t n, F f) {
  return n == 0 ? 0 : LaunchForEach(stream, n, f);
}

// f(team, int64_t t) for each t in [0, teams), where f's operator() is a template over the team's type: all threads of a team run f
// together, see Team. `work` is about how many items a team's loops have; it decides the number of threads. `shared_bytes`: Team::shared,
// at most kSharedBytes.
template <class F>
int ForEachTeam(void* stream, int64_t teams, int64_t work, F f, int shared_bytes = 0) {
  return teams == 0 ? 0 : LaunchForEachTeam(stream, teams, work, shared_bytes, f);
}

// The calls of a team. Every thread of it must reach every call, with the same arguments.
//   team.For(n, f)                        f(int64_t i) for each i, shared among the threads; everyone sees the results behind it
//   team.Reduce(n, identity, load, combine)  combine over load(0..n-1), the same value for every thread; the order depends only on n and
//                                         the team's size. `combine` is associative and commutative but for rounding
//   team.Scan(n, identity, load, combine, store)  store(i, before, after) for each i, where `before` is combine over load(0..i-1),
//                                         `after` that with load(i), which is read before the store; `combine` is associative but for
//                                         rounding
//   team.Once(f)                          one thread runs f(); everyone sees the results behind it
//   team.shared()                         the team's memory of shared_bytes, 16-byte aligned
// Sums: Plus. Extremes: Largest and Least, which keep a NaN.
struct Plus {
  template <class T>
  AMPC_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Largest {
  template <class T>
  AMPC_HOST_DEVICE T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};

struct Least {
  template <class T>
  AMPC_HOST_DEVICE T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};

}  // namespace ampc::cuda
