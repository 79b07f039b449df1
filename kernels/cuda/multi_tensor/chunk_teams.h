// A team per chunk: 256 threads, so that kernels with many registers still keep a multiprocessor full. (ForEachTeam would compile each
// kernel for three sizes.)
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/launch.h"

namespace ampc::cuda {

// F::kIsLarge where F has it: it needs more registers than fit four times.
template <class F>
constexpr bool IsLarge() {
  if constexpr (requires { F::kIsLarge; }) {
    return F::kIsLarge;
  } else {
    return false;
  }
}

#if defined(__CUDACC__)
// ForEachTeamKernel<256> of which two blocks on a multiprocessor are enough. Not told so, the compiler keeps registers in memory to fit
// in one block more.
template <class F>
__global__ void __launch_bounds__(256, 2) ForEachLargeTeamKernel(int64_t teams, F f) {
  __shared__ __align__(16) char scratch[kScratchBytes];
  Team<256> team(nullptr, scratch);
  for (int64_t t = blockIdx.x; t < teams; t += gridDim.x) f(team, t);
}
#endif

template <class F>
int ForEachTeamOfChunks(void* stream, int64_t teams, int64_t chunk, const F& f) {
  if (teams == 0) return 0;
#if defined(__CUDACC__)
  (void)chunk;
  if constexpr (F::kIsLarge) {
    ForEachLargeTeamKernel<<<Blocks(teams, 1), 256, 0, static_cast<cudaStream_t>(stream)>>>(teams, f);
    return static_cast<int>(cudaGetLastError());
  } else {
    return LaunchTeams<256>(stream, teams, 0, f);
  }
#else
  return LaunchForEachTeam(stream, teams, chunk, 0, f);
#endif
}

}  // namespace ampc::cuda
