// Launch for nvcc; include kernels/cuda/launch/launch.h.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#define AMPC_DEVICE __device__

#include "kernels/cuda/launch/team_cuda.h"

namespace ampc::cuda {

inline constexpr int kThreads = 256;
// Grids are not larger than this: loops stride over what is left, which keeps any count launchable.
inline constexpr int64_t kMaxBlocks = int64_t{1} << 20;

inline int Blocks(int64_t n, int64_t per_block) {
  const int64_t blocks = (n + per_block - 1) / per_block;
  return static_cast<int>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

// *flag = true, which other threads may store at the same time: a volatile store is a relaxed one (PTX ISA, memory consistency model).
AMPC_DEVICE inline void SetFlag(bool* flag) { *static_cast<volatile bool*>(flag) = true; }

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

template <int kTeamThreads, class F>
__global__ void __launch_bounds__(kTeamThreads) ForEachTeamKernel(int64_t teams, F f) {
  extern __shared__ __align__(16) char shared[];
  __shared__ __align__(16) char scratch[kTeamThreads > kWarp ? kScratchBytes : 32];
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
  if (work <= kWarpWork) return LaunchTeams<32>(stream, teams, shared_bytes, f);
  if (work <= kBlockWork) return LaunchTeams<256>(stream, teams, shared_bytes, f);
  return LaunchTeams<1024>(stream, teams, shared_bytes, f);
}

}  // namespace ampc::cuda
