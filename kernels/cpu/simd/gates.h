// Vector loops of recurrent cells: one step of one sequence, whose state has `n` numbers. Results may lie where the states before did.
#pragma once

#include <cstdint>

namespace ampc::simd {

// x, h: what input and state give the gates i, f, c, o, `n` numbers each. c = f * before + i * tanh(c); out = o * tanh(c).
void LstmRow(const float* x, const float* h, const float* before, float* c, float* out, int64_t n);
// x, h: the gates r, z, c. out = z * before + (1 - z) * tanh(x_c + r * (h_c + bias)).
void GruRow(const float* x, const float* h, const float* bias, const float* before, float* out, int64_t n);
// out = tanh or relu of x + h.
void TanhRow(const float* x, const float* h, float* out, int64_t n);
void ReluRow(const float* x, const float* h, float* out, int64_t n);

}  // namespace ampc::simd
