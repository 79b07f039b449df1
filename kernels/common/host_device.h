// AMPC_HOST_DEVICE marks the scalar functions that CUDA kernels share with the CPU; it is empty for a host compiler.
#pragma once

#if defined(__CUDACC__)
#define AMPC_HOST_DEVICE __host__ __device__
#else
#define AMPC_HOST_DEVICE
#endif
