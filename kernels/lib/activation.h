// Reads and applies the activation that a fused kernel applies to its result.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/op.h"
#include "kernels/common/activation.h"

namespace ampc {

// Reads fuse_activation with fuse_alpha and fuse_beta (where absent: the defaults of the op of that name), fuse_relu, fuse_brelu,
// fuse_with_relu, activation_type; fuse_scale and fuse_shift. Unimplemented for a name outside the list above, spelled as the op is;
// gelu_erf and gelu_tanh too.
absl::StatusOr<Activation> ReadActivation(const Op& op);

// Whether oneDNN's code for it gives a number for NaN on some CPU: it takes a maximum, or compares.
bool MayLoseNan(const Activation& activation);

// Applies it to stored floats in place, NaN to NaN.
void ApplyActivation(const Activation& activation, int threads, float* data, int64_t n);

}  // namespace ampc
