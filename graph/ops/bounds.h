// How the records of graph/ops and graph/ops/onnx bound their results (OpDef::bounds).
#pragma once

#include "absl/types/span.h"
#include "graph/op.h"

namespace ampc::ops {

// The elements of the operands, and no others.
Bounds MovedBounds(const Op& op, absl::Span<const Bounds> in);
// These and the filler, an attribute pad_value or value.
Bounds PaddedBounds(const Op& op, absl::Span<const Bounds> in);
// From kLow to kHigh, for any operands.
template <int kLow, int kHigh>
Bounds Between(const Op&, absl::Span<const Bounds>) {
  return {kLow, kHigh};
}
Bounds NotPositive(const Op& op, absl::Span<const Bounds> in);
Bounds ExpBounds(const Op& op, absl::Span<const Bounds> in);
Bounds ReluBounds(const Op& op, absl::Span<const Bounds> in);
Bounds AbsBounds(const Op& op, absl::Span<const Bounds> in);
Bounds NegativeBounds(const Op& op, absl::Span<const Bounds> in);
Bounds SumBounds(const Op& op, absl::Span<const Bounds> in);  // of the operands, element by element
Bounds DifferenceBounds(const Op& op, absl::Span<const Bounds> in);
Bounds ProductBounds(const Op& op, absl::Span<const Bounds> in);
Bounds QuotientBounds(const Op& op, absl::Span<const Bounds> in);
Bounds SquareBounds(const Op& op, absl::Span<const Bounds> in);
Bounds RootBounds(const Op& op, absl::Span<const Bounds> in);
Bounds MaxBounds(const Op& op, absl::Span<const Bounds> in);
Bounds MinBounds(const Op& op, absl::Span<const Bounds> in);
Bounds ClipBounds(const Op& op, absl::Span<const Bounds> in);
Bounds ReducedSumBounds(const Op& op, absl::Span<const Bounds> in);  // of the elements of one operand
Bounds CastBounds(const Op& op, absl::Span<const Bounds> in);
Bounds AffineBounds(const Op& op, absl::Span<const Bounds> in);  // of attributes scale and bias
// Of x times a function of x between 0 and 1 that is near 0 below it: gelu, silu, mish.
Bounds GatedBounds(const Op& op, absl::Span<const Bounds> in);
Bounds SwishBounds(const Op& op, absl::Span<const Bounds> in);
Bounds HardSwishBounds(const Op& op, absl::Span<const Bounds> in);
Bounds LeakyBounds(const Op& op, absl::Span<const Bounds> in);
Bounds EluBounds(const Op& op, absl::Span<const Bounds> in);
Bounds SoftplusBounds(const Op& op, absl::Span<const Bounds> in);
Bounds LogBounds(const Op& op, absl::Span<const Bounds> in);
Bounds ReciprocalBounds(const Op& op, absl::Span<const Bounds> in);
Bounds InverseRootBounds(const Op& op, absl::Span<const Bounds> in);

}  // namespace ampc::ops
