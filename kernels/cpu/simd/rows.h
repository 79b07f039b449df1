// Vector loops of normalisations over float arrays. `out` may be `x` itself. Sums have a fixed order, whatever the
// instruction set; NaN wins over everything.
#pragma once

#include <cstdint>

namespace ampc::simd {

// out[i] = exp(x[i] - max x) divided by its sum, n >= 1.
void SoftmaxRow(const float* x, float* out, int64_t n);
// to += x.
void AddRow(const float* x, float* to, int64_t n);
// out[c] = exp(x[c] - shift[c])
void ExpColumns(const float* x, const float* shift, float* out, int64_t n);
// The sum of (x[i] - center)^2, of a row of any length.
double SquaredDistance(const float* x, float center, int64_t n);
// out[c] = the sum of (x[r * stride + c] - center[c])^2 over up to 64 rows, one row after the other.
void SquaredColumns(const float* x, int64_t rows, int64_t stride, const float* center, float* out, int64_t n);

// y = (x - mean) * scale + bias; operands are one number for the row, or an array beside it.
struct Affine {
  float mean = 0, scale = 1, bias = 0;
};
void AffineRow(const float* x, Affine a, float* out, int64_t n);
void AffineColumns(const float* x, const float* mean, const float* scale, const float* bias, float* out, int64_t n);
// y = ((x - a.mean) * a.scale) * scale + bias; a null array stands for ones or zeros.
void NormalizeRow(const float* x, Affine a, const float* scale, const float* bias, float* out, int64_t n);

// out[c] = x[c], or alpha[c] * x[c] where x[c] < 0
void PreluColumns(const float* x, const float* alpha, float* out, int64_t n);

}  // namespace ampc::simd
