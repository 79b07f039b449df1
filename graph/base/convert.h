// Bulk conversion between float and the 16-bit types. Every function gives exactly the bits of the scalar conversions in half.h
// and bfloat16.h for every input, whatever the CPU (vector code is chosen at run time) and the floating-point environment.
// Pointers need no alignment; source and destination must not overlap. Single-threaded, reentrant.
#pragma once

#include <cstddef>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"

namespace ampc {

void F32ToF16(const float* in, Half* out, size_t n);
void F16ToF32(const Half* in, float* out, size_t n);
void F32ToBF16(const float* in, BFloat16* out, size_t n);
void BF16ToF32(const BFloat16* in, float* out, size_t n);

// Rounds every float to the nearest value of the 16-bit type (beyond its range to infinity) and keeps it as a float.
void RoundF32ToF16InPlace(float* data, size_t n);
void RoundF32ToBF16InPlace(float* data, size_t n);

}  // namespace ampc
