// Products of rows of 32-bit integers with a matrix, which wrap.
#pragma once

#include <cstdint>

namespace ampc::simd {

// Rows that lie as they are: an element is at data[row * row_step + column * column_step].
struct IntegerRows {
  const int32_t* data;
  int64_t row_step, column_step;
};

// out[r * n + c] = the sum over i < k of a[r][i] * b[i * n + c], modulo 2^32, for r < rows, c < n.
void MultiplyIntegers(const IntegerRows& a, int64_t rows, const int32_t* b, int64_t k, int64_t n, int32_t* out);

}  // namespace ampc::simd
