// Ops that take or change slices at positions which an index tensor gives: the one place that reads them, for every device.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// An operand [.., k] whose last dimension names slices of a tensor by its leading k dimensions.
struct NdIndexSpec {
  int flat = 0;  // operand
  DType type = DType::kI64;
  bool from_end = false;               // of PositionIn (kernels/common/position.h), as below
  std::vector<int64_t> sizes;          // of the leading dimensions
  int64_t rows = 1, row_elements = 1;  // slices named; elements of a slice
  int64_t slots() const;               // slices that the tensor has
};
// The operand in `slot` indexes a tensor of `dims`.
absl::StatusOr<NdIndexSpec> ReadNdIndex(const SpecView& view, absl::string_view slot, const Dims& dims);
// The same, where an operand [n] stands for [n, 1] (scatter's Ids).
absl::StatusOr<NdIndexSpec> ReadRowIndex(const SpecView& view, absl::string_view slot, const Dims& dims);

// gather, index_select, lookup_table, lookup_table_v2 and their gradients: `outer` times `count` slices of `width` elements, taken out of
// `outer` times `slots`.
struct SliceIndexSpec {
  int flat = 0;  // operand: the index
  DType type = DType::kI64;
  bool from_end = false;
  int table = 0;  // operand that has the slots; for a gradient the result
  int64_t outer = 1, slots = 0, width = 1, count = 0;
  int64_t padding = -1;  // a number from 0 on that names no slice; -1 for none
};
absl::StatusOr<SliceIndexSpec> ReadSliceIndex(const SpecView& view);

// Elements [outer, count, inner] at [o, j, i] belong to [o, index[o, j, i], i] of a tensor [outer, slots, inner]: index_sample,
// take_along_axis, and the gradients of these, argsort, top_k and top_k_v2.
struct AlongAxisSpec {
  int flat = 0;  // operand: the index
  DType type = DType::kI64;
  bool from_end = false;
  int table = 0;      // operand that has the slots; for a gradient the result
  int gradient = -1;  // operand, for a gradient
  int64_t outer = 1, slots = 1, count = 1, inner = 1;
};
absl::StatusOr<AlongAxisSpec> ReadAlongAxis(const SpecView& view);

// scatter, scatter_nd_add: `adds` unless the updates replace; `from_zero`: slices that are named start at 0.
struct ScatterSpec {
  NdIndexSpec index;
  int x = 0, updates = 0;  // operands
  bool adds = true, from_zero = false;
};
absl::StatusOr<ScatterSpec> ReadScatter(const SpecView& view);

// Their gradients: the updates' is the slices that they went to, X's is what reached the result from X.
struct ScatterGradientSpec {
  NdIndexSpec index;
  int gradient = 0, x = -1, updates = -1;  // operand; results, -1: not wanted
  bool replaces = false;                   // named slices of X count for nothing
  bool last_wins = false;                  // of several updates of a slice only the last is seen
};
absl::StatusOr<ScatterGradientSpec> ReadScatterGradient(const SpecView& view);

}  // namespace ampc
