// Launch for a host compiler; include kernels/cuda/launch/launch.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/cuda/launch/host_schedule.h"
#include "kernels/cuda/launch/team_memory.h"

#define AMPC_DEVICE

namespace ampc::cuda {

inline constexpr int kEmulatedLaunchRefused = 1;  // as a device answers a launch that it cannot make: invalid value

// Puts `work` behind what the emulated stream already has to do; defined by //kernels/device/emulated.
int EnqueueEmulated(void* stream, std::function<void()> work);

// *flag = true, which other threads may store at the same time.
inline void SetFlag(bool* flag) { __atomic_store_n(flag, true, __ATOMIC_RELAXED); }

inline bool IsScheduled() {
  const HostSchedule& s = TheHostSchedule();
  return s.order != HostSchedule::Order::kForward || s.threads > 1;
}

template <class F>
int LaunchForEach(void* stream, int64_t n, F f) {
  return EnqueueEmulated(stream, [n, f] {
    if (IsScheduled()) return RunInSchedule(n, [&f](int64_t i) { f(i); });
    for (int64_t i = 0; i < n; ++i) f(i);
  });
}

// A team of one, or a thread of a real team.
class Team {
 public:
  explicit Team(void* shared) : shared_(shared) {}
  Team(RealTeam& team, int rank, int size, void* shared) : team_(&team), rank_(rank), size_(size), shared_(shared) {}
  template <class F>
  void For(int64_t n, F f) {
    for (int64_t i = rank_; i < n; i += size_) f(i);
    Wait("For", n, true);
  }
  template <class T, class Load, class Combine>
  T Reduce(int64_t n, T identity, Load load, Combine combine) {
    T value = identity;
    for (int64_t i = rank_; i < n; i += size_) value = combine(value, load(i));
    if (team_ == nullptr) return value;
    T* const partial = static_cast<T*>(team_->Scratch(size_ * static_cast<int64_t>(sizeof(T))));
    partial[rank_] = value;
    Wait("Reduce", n, false);
    for (int other = 1; rank_ == 0 && other < size_; ++other) partial[0] = combine(partial[0], partial[other]);
    Wait("Reduce", n, false);
    value = partial[0];
    Wait("Reduce", n, false);
    return value;
  }
  template <class T, class Load, class Combine, class Store>
  void Scan(int64_t n, T identity, Load load, Combine combine, Store store) {
    T before = identity;
    for (int64_t first = 0; first < n; first += size_) {
      const int64_t i = first + rank_;
      const T own = i < n ? load(i) : identity;
      T after = combine(before, own), next = after;
      if (team_ != nullptr) {
        T* const parts = static_cast<T*>(team_->Scratch(size_ * static_cast<int64_t>(sizeof(T))));
        parts[rank_] = own;
        Wait("Scan", n, false);
        for (int other = 0; other < rank_; ++other) before = combine(before, parts[other]);
        after = next = combine(before, own);
        for (int other = rank_ + 1; other < size_; ++other) next = combine(next, parts[other]);
        Wait("Scan", n, false);
      }
      if (i < n) store(i, before, after);
      before = next;
    }
    Wait("Scan", n, false);
  }
  template <class F>
  void Once(F f) {
    if (rank_ == 0) f();
    Wait("Once", 1, true);
  }
  void* shared() const { return shared_; }

 private:
  void Wait(const char* call, int64_t n, bool makes_visible) const {
    if (team_ != nullptr) team_->Wait(call, n, makes_visible);
  }

  RealTeam* team_ = nullptr;
  int rank_ = 0, size_ = 1;
  void* shared_;
};

template <class F>
int LaunchForEachTeam(void* stream, int64_t teams, int64_t work, int shared_bytes, F f) {
  if (shared_bytes > kSharedBytes) return kEmulatedLaunchRefused;
  return EnqueueEmulated(stream, [teams, work, shared_bytes, f] {
    if (TheHostSchedule().real_teams) {
      const int size = work <= kWarpWork ? 32 : work <= kBlockWork ? 256 : 1024;
      return RunRealTeams(teams, size, shared_bytes, [&f, size](RealTeam& real, int rank, void* shared, int64_t t) {
        Team team(real, rank, size, shared);
        f(team, t);
      });
    }
    const auto run = [&f](std::vector<std::max_align_t>& shared, int64_t t) {
      Team team(shared.data());
      f(team, t);
    };
    const size_t shared_size = static_cast<size_t>(shared_bytes) / sizeof(std::max_align_t) + 1;
    if (IsScheduled()) {
      return RunInSchedule(teams, [&](int64_t t) {
        std::vector<std::max_align_t> shared(shared_size);
        run(shared, t);
      });
    }
    std::vector<std::max_align_t> shared(shared_size);
    for (int64_t t = 0; t < teams; ++t) run(shared, t);
  });
}

}  // namespace ampc::cuda
