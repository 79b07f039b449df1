// Partial reductions over float arrays. The order of additions is fixed: it depends neither on the instruction set nor on
// threads. NaN wins over everything.
#pragma once

#include <cstdint>

namespace ampc::simd {

enum class ReduceOp : uint8_t { kSum, kMax, kMin };

// Longest run that one call adds: each of 64 partial sums takes 64 elements, so rounding errors stay below 70 units.
inline constexpr int64_t kReduceRun = 4096;
// Most rows and columns of one call of a column reduction.
inline constexpr int64_t kReduceRows = 64;
inline constexpr int64_t kReduceColumns = 64;

// Over x[0, n), n <= kReduceRun; 0, -inf or inf for n == 0.
using ReduceRunFn = float (*)(const float* x, int64_t n);
// out[c] = over r of x[r * stride + c], rows <= kReduceRows, columns <= kReduceColumns; one row after the other.
using ReduceColumnsFn = void (*)(const float* x, int64_t rows, int64_t stride, int64_t columns, float* out);

ReduceRunFn ReduceRun(ReduceOp op);
ReduceColumnsFn ReduceColumns(ReduceOp op);

// The sum of a row of any length: runs of kReduceRun in double.
double SumRow(const float* x, int64_t n);
// The largest element, -inf for n == 0.
float MaxRow(const float* x, int64_t n);

}  // namespace ampc::simd
