// Launch for a host compiler; include kernels/cuda/launch/launch.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/cuda/launch/team_memory.h"

#define AMPC_DEVICE

namespace ampc::cuda {

inline constexpr int kEmulatedLaunchRefused = 1;  // as a device answers a launch that it cannot make: invalid value

// Puts `work` behind what the emulated stream already has to do; defined by //kernels/device/emulated.
int EnqueueEmulated(void* stream, std::function<void()> work);

template <class F>
int LaunchForEach(void* stream, int64_t n, F f) {
  return EnqueueEmulated(stream, [n, f] {
    for (int64_t i = 0; i < n; ++i) f(i);
  });
}

// A team of one.
class Team {
 public:
  explicit Team(void* shared) : shared_(shared) {}
  template <class F>
  void For(int64_t n, F f) {
    for (int64_t i = 0; i < n; ++i) f(i);
  }
  template <class T, class Load, class Combine>
  T Reduce(int64_t n, T identity, Load load, Combine combine) {
    T value = identity;
    for (int64_t i = 0; i < n; ++i) value = combine(value, load(i));
    return value;
  }
  template <class T, class Load, class Combine, class Store>
  void Scan(int64_t n, T identity, Load load, Combine combine, Store store) {
    T before = identity;
    for (int64_t i = 0; i < n; ++i) {
      const T after = combine(before, load(i));
      store(i, before, after);
      before = after;
    }
  }
  template <class F>
  void Once(F f) {
    f();
  }
  void* shared() const { return shared_; }

 private:
  void* shared_;
};

template <class F>
int LaunchForEachTeam(void* stream, int64_t teams, int64_t work, int shared_bytes, F f) {
  (void)work;
  if (shared_bytes > kSharedBytes) return kEmulatedLaunchRefused;
  return EnqueueEmulated(stream, [teams, shared_bytes, f] {
    std::vector<std::max_align_t> shared(static_cast<size_t>(shared_bytes) / sizeof(std::max_align_t) + 1);
    for (int64_t t = 0; t < teams; ++t) {
      Team team(shared.data());
      f(team, t);
    }
  });
}

}  // namespace ampc::cuda
