// Ops whose result is a strided view of the operand: the one place that reads transpose, slice, strided_slice, expand, tile and roll, for
// the ops and their gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/spec/move/move_spec.h"

namespace ampc {

// The result of `dims` is dense; its element at i is the operand's at first + i * from, in elements. A stride is 0 where the operand
// repeats.
struct ViewSpec {
  std::vector<int64_t> dims;
  int64_t first = 0;
  std::vector<int64_t> from;
};

std::vector<int64_t> DenseStrides(absl::Span<const int64_t> dims);

// By the dims of the operand, and of the result where they are needed. The op is the forward one or its gradient.
absl::StatusOr<std::vector<int64_t>> ReadPermutation(const SpecView& view, const Dims& in);
ViewSpec PermutedView(const TensorDesc& in, const std::vector<int64_t>& axes);
absl::StatusOr<ViewSpec> ReadSlice(const SpecView& view, const TensorDesc& in, bool stepped);
absl::StatusOr<ViewSpec> ReadExpand(const SpecView& view, const Dims& in, const Dims& out);
absl::StatusOr<ViewSpec> ReadTile(const SpecView& view, const Dims& in, const Dims& out);  // two dims for each of the result

// roll: a block of the operand and where it goes; first elements.
struct RolledBlock {
  std::vector<int64_t> dims;
  int64_t from = 0, to = 0;
};
struct RollSpec {
  std::vector<int64_t> strides;  // of operand and result
  std::vector<RolledBlock> blocks;
};
absl::StatusOr<RollSpec> ReadRoll(const SpecView& view, const Dims& in);
MoveSpec RollMove(const RollSpec& roll, int in, int out, bool back);  // `back`: from the result's order to the operand's

// pixel_shuffle of an operand of `x` without empty dims: sizes, and strides in the operand and in the result.
struct ShuffleSpec {
  std::vector<int64_t> dims, from, to;
};
ShuffleSpec ReadShuffle(const Op& op, const Dims& x);

}  // namespace ampc
