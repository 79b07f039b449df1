// Affine steps: y = x * factor + term with constants, as fusion passes collect them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "passes/analysis/use_def.h"
#include "passes/fusion/rewrite.h"

namespace ampc {

// One value for all channels or one per channel.
struct Affine {
  std::vector<float> factor;
  std::vector<float> term;
};
// Of channel `i`.
inline float At(const std::vector<float>& values, size_t i) { return values.size() == 1 ? values[0] : values[i]; }

// The step that `op` is for its operand `x`, along dimension `channel_dim` of x with `channels` elements (both -1: one value for
// everything only): elementwise_mul or elementwise_add with a constant that nothing writes, or scale without a ScaleTensor.
// The result must have the type of x, and that must be one that is fused.
std::optional<Affine> ReadAffine(const UseDef& uses, const Op& op, const Var& x, int channel_dim, int64_t channels);

// First `a`, then `b`.
Affine Then(const Affine& a, const Affine& b);

// The steps behind a value, each the only reader of the one before, and casts between float types that end in the value's type again.
struct AffineChain {
  Affine all{{1.0f}, {0.0f}};
  std::vector<const Op*> ops;  // steps and casts, in order
  int sums = 0, others = 0;    // steps that are elementwise_add, and those that are not
  Var* result = nullptr;       // of the last op, a temp; the value itself where there is none
};
AffineChain FindAffineChain(const Rewrite& rewrite, Var* y, int channel_dim, int64_t channels);

}  // namespace ampc
