// AMPC_UNROLL in front of a loop of device code whose count the compiler knows: without it an array that the loop walks through lies in
// local memory.
#pragma once

#if defined(__CUDA_ARCH__)
#define AMPC_UNROLL _Pragma("unroll")
#else
#define AMPC_UNROLL
#endif
