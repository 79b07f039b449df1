// Launch for nvcc; include kernels/cuda/launch/launch.h.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#define AMPC_DEVICE __device__

namespace ampc::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWarp = 32;
// Grids are not larger than this: loops stride over what is left, which keeps any count launchable.
inline constexpr int64_t kMaxBlocks = int64_t{1} << 20;

inline int Blocks(int64_t n, int64_t per_block) {
  const int64_t blocks = (n + per_block - 1) / per_block;
  return static_cast<int>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

template <class F>
__global__ void __launch_bounds__(kThreads) ForEachKernel(int64_t n, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) f(i);
}

template <class F>
int LaunchForEach(void* stream, int64_t n, F f) {
  ForEachKernel<<<Blocks(n, kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(n, f);
  return static_cast<int>(cudaGetLastError());
}

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
    T value = identity;
    for (int64_t i = Rank(); i < n; i += kTeamThreads) value = combine(value, load(i));
    for (int offset = (kTeamThreads < kWarp ? kTeamThreads : kWarp) / 2; offset > 0; offset /= 2) value = combine(value, Shuffle(value, offset));
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

  template <class F>
  __device__ void Once(F f) {
    if (Rank() == 0) f();
    Sync();
  }

  __device__ void* shared() const { return shared_; }

 private:
  __device__ int Rank() const { return static_cast<int>(threadIdx.x); }
  __device__ void Sync() const {
    if constexpr (kTeamThreads > kWarp) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
  // The value of the lane whose number differs in one bit: all lanes get the same result from a commutative combine.
  template <class T>
  __device__ static T Shuffle(T value, int offset) {
    static_assert(sizeof(T) % 4 == 0, "shuffled in words of 4 bytes");
    union Words {
      T value;
      unsigned words[sizeof(T) / 4];
      __device__ Words() {}
    } w;
    w.value = value;
    for (unsigned& word : w.words) word = __shfl_xor_sync(0xffffffffu, word, offset);
    return w.value;
  }

  char* shared_;
  char* scratch_;
};

inline constexpr int kScratchBytes = 1024;  // a partial result of 32 bytes from each of 32 warps

template <int kTeamThreads, class F>
__global__ void __launch_bounds__(kTeamThreads) ForEachTeamKernel(int64_t teams, F f) {
  extern __shared__ __align__(16) char shared[];
  __shared__ __align__(16) char scratch[kTeamThreads > kWarp ? kScratchBytes : 16];
  Team<kTeamThreads> team(shared, scratch);
  for (int64_t t = blockIdx.x; t < teams; t += gridDim.x) f(team, t);
}

template <int kTeamThreads, class F>
int LaunchTeams(void* stream, int64_t teams, int shared_bytes, F f) {
  ForEachTeamKernel<kTeamThreads><<<Blocks(teams, 1), kTeamThreads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(teams, f);
  return static_cast<int>(cudaGetLastError());
}

template <class F>
int LaunchForEachTeam(void* stream, int64_t teams, int64_t work, int shared_bytes, F f) {
  if (work <= 128) return LaunchTeams<32>(stream, teams, shared_bytes, f);
  if (work <= 2048) return LaunchTeams<256>(stream, teams, shared_bytes, f);
  return LaunchTeams<1024>(stream, teams, shared_bytes, f);
}

}  // namespace ampc::cuda
