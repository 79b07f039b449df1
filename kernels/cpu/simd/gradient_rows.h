// Vector loops of the gradients of normalisations and softmax over float arrays. `out` may be `x` or `g` itself. Sums have a fixed order,
// whatever the instruction set.
#pragma once

#include <cstdint>

namespace ampc::simd {

// Rows and columns of one call of SumColumnProducts, at most.
inline constexpr int64_t kProductRows = 64;

struct ProductSums {
  double g = 0, gx = 0;  // the sums of g and of g * (x - center)
};

// Of a row of any length; a scale that is not null multiplies g.
ProductSums SumProducts(const float* x, float center, const float* g, const float* scale, int64_t n);
// The same down `rows` rows, `stride` apart, for each of `n` columns, one row after the other. `center` null: zeros.
void SumColumnProducts(const float* x, const float* center, const float* g, int64_t rows, int64_t stride, float* sum_g, float* sum_gx,
                       int64_t n);

// out = a * g + (b * (x - mean) + c); operands are one number for the row, or an array beside it.
struct Combination {
  float mean, a, b, c;
};
// `scale` multiplies g where it is not null.
void CombineRow(const float* x, const float* g, const float* scale, Combination with, float* out, int64_t n);
struct CombinationColumns {
  const float *mean, *a, *b, *c;
};
void CombineColumns(const float* x, const float* g, CombinationColumns with, float* out, int64_t n);

// sum_gx[i] += g[i] * (x[i] - mean) * factor and sum_g[i] += g[i], where these arrays are not null; returns what SumProducts does.
ProductSums AddProducts(const float* x, float mean, float factor, const float* g, const float* scale, float* sum_gx, float* sum_g,
                        int64_t n);

// out = y * (g - sum(y * g)): the gradient of softmax, whose result is y.
void SoftmaxGradient(const float* y, const float* g, float* out, int64_t n);
// out = g - exp(y) * sum(g): that of log_softmax.
void LogSoftmaxGradient(const float* y, const float* g, float* out, int64_t n);
// out = factor * x
void ScaleRow(const float* x, float factor, float* out, int64_t n);
// out = factor * x where the mask is not 0 (where it is 0 if `inverse`), else 0.
void MaskRow(const float* x, const uint8_t* mask, bool inverse, float factor, float* out, int64_t n);

}  // namespace ampc::simd
