// Vector loops of recurrent cells: one step of one sequence, whose state has `n` numbers. Results may lie where the states before did.
#pragma once

#include <cstdint>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"

namespace ampc::simd {

// `kept`: null, or what the gradient needs of the step, several times n numbers: the gates after their functions, then what is named.

// x, h: what input and state give the gates i, f, c, o, `n` numbers each. c = f * before + i * tanh(c); out = o * tanh(c). Kept: tanh(c).
void LstmRow(const float* x, const float* h, const float* before, float* c, float* out, int64_t n, float* kept = nullptr);
// x, h: the gates r, z, c. out = z * before + (1 - z) * tanh(x_c + r * (h_c + bias)). Kept: h_c + bias.
void GruRow(const float* x, const float* h, const float* bias, const float* before, float* out, int64_t n, float* kept = nullptr);
// out = tanh or relu of x + h.
void TanhRow(const float* x, const float* h, float* out, int64_t n);
void ReluRow(const float* x, const float* h, float* out, int64_t n);

// A column's numbers of two neighbouring rows; of the last row and zero where rows are odd.
struct BFloat16Pair {
  BFloat16 row[2];
};

// out = state * w, a matrix of n rows of `columns` numbers, a multiple of 16: what the state of one sequence gives its gates. Halves are
// widened on the way.
void StateTimesMatrix(const float* state, const float* w, int64_t n, int64_t columns, float* out);
void StateTimesMatrix(const float* state, const BFloat16Pair* w, int64_t n, int64_t columns, float* out);
void StateTimesMatrix(const float* state, const Half* w, int64_t n, int64_t columns, float* out);

// Gradients. `h`: that of out; `c`: that of c, replaced by that of `before`; gates: those of x and h.
void LstmGradientRow(const float* kept, const float* before, const float* h, float* c, float* gates, int64_t n);
// `h` is replaced by what reaches `before` directly; x_gates and h_gates are those of x and h.
void GruGradientRow(const float* kept, const float* before, float* h, float* x_gates, float* h_gates, int64_t n);
// gates = h * (1 - out^2), or h where out > 0, else 0.
void TanhGradientRow(const float* out, const float* h, float* gates, int64_t n);
void ReluGradientRow(const float* out, const float* h, float* gates, int64_t n);

}  // namespace ampc::simd
