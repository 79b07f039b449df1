// Team on a device; include kernels/cuda/launch/launch.h. It uses nothing of CUDA but __device__, threadIdx, barriers and shuffles, for
// which a test has threads of the host (tests/cuda/launch/team_test.cc).
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/team_memory.h"
#include "kernels/cuda/launch/unroll.h"

namespace ampc::cuda {

inline constexpr int kWarp = 32;

// A thread block, or a part of one warp where `kLanes` of its threads are a team.
template <int kTeamThreads>
class Team {
 public:
  __device__ Team(char* shared, char* scratch) : shared_(shared), scratch_(scratch) {}

  template <class F>
  __device__ void For(int64_t n, F f) {
    for (int64_t i = Rank(); i < n; i += kTeamThreads) f(i);
    Sync();
  }

  template <class T, class Load, class Combine>
  __device__ T Reduce(int64_t n, T identity, Load load, Combine combine) {
    static_assert(sizeof(T) * (kTeamThreads / kWarp) <= kScratchBytes);
    T value = identity;
    for (int64_t i = Rank(); i < n; i += kTeamThreads) value = combine(value, load(i));
    for (int offset = kLanes / 2; offset > 0; offset /= 2) value = combine(value, Shuffle(value, offset));
    if constexpr (kTeamThreads > kWarp) {
      T* partial = reinterpret_cast<T*>(scratch_);
      if (Rank() % kWarp == 0) partial[Rank() / kWarp] = value;
      Sync();
      value = partial[0];
      for (int w = 1; w < kTeamThreads / kWarp; ++w) value = combine(value, partial[w]);
      Sync();  // the scratch may be written again
    }
    return value;
  }

  template <class T, class Load, class Combine, class Store>
  __device__ void Scan(int64_t n, T identity, Load load, Combine combine, Store store) {
    static_assert(sizeof(T) * (kTeamThreads / kLanes) <= kScratchBytes);
    const int lane = Rank() % kLanes, warp = Rank() / kLanes;
    T carry = identity;  // what the elements before this round come to
    for (int64_t first = 0; first < n; first += kTeamThreads) {
      const int64_t i = first + Rank();
      T value = i < n ? load(i) : identity;
      for (int offset = 1; offset < kLanes; offset *= 2) {
        const T other = ShuffleUp(value, offset);
        if (lane >= offset) value = combine(other, value);
      }
      const T left = ShuffleUp(value, 1);
      T prefix = carry;
      T* partial = reinterpret_cast<T*>(scratch_);
      Sync();  // the scratch may be written again
      if (lane == kLanes - 1) partial[warp] = value;
      Sync();
      for (int w = 0; w < kTeamThreads / kLanes; ++w) {
        if (w == warp) prefix = carry;
        carry = combine(carry, partial[w]);
      }
      if (i < n) store(i, lane == 0 ? prefix : combine(prefix, left), combine(prefix, value));
    }
    Sync();
  }

  template <class F>
  __device__ void Once(F f) {
    if (Rank() == 0) f();
    Sync();
  }

  __device__ void* shared() const { return shared_; }

 private:
  static constexpr int kLanes = kTeamThreads < kWarp ? kTeamThreads : kWarp;

  __device__ int Rank() const { return static_cast<int>(threadIdx.x); }
  __device__ void Sync() const {
    if constexpr (kTeamThreads > kWarp) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
  // f of each of the words that the value consists of.
  template <class T, class F>
  __device__ static T OfWords(T value, F f) {
    static_assert(sizeof(T) % 4 == 0, "shuffled in words of 4 bytes");
    union Words {
      T value;
      unsigned words[sizeof(T) / 4];
      __device__ Words() {}
    } w;
    w.value = value;
    AMPC_UNROLL
    for (unsigned i = 0; i < sizeof(T) / 4; ++i) w.words[i] = f(w.words[i]);
    return w.value;
  }
  // The value of the lane whose number differs in one bit: all lanes get the same result from a commutative combine.
  template <class T>
  __device__ static T Shuffle(T value, int offset) {
    return OfWords(value, [offset](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, offset); });
  }
  // The value of the lane `offset` before; the first lanes keep their own.
  template <class T>
  __device__ static T ShuffleUp(T value, int offset) {
    return OfWords(value, [offset](unsigned word) { return __shfl_up_sync(0xffffffffu, word, offset); });
  }

  char* shared_;
  char* scratch_;
};

}  // namespace ampc::cuda
