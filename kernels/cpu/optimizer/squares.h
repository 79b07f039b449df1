// Sums of squares in a fixed order: runs in the vector loops, blocks of fixed size in double.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/rows.h"

namespace ampc {

inline constexpr int64_t kNormBlock = 1 << 14;

inline int64_t NumBlocks(int64_t n) { return (n + kNormBlock - 1) / kNormBlock; }

inline double Squares(const float* x, int64_t n) { return simd::SquaredDistance(x, 0, n); }
inline double Squares(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

inline double Total(const double* parts, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += parts[i];
  return sum;
}

}  // namespace ampc
