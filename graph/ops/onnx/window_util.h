// Windows as the standard describes them, for the records of convolution and pooling.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

struct OnnxWindows {
  std::vector<int64_t> kernel, strides, dilations;  // one number per spatial dim
  std::vector<int64_t> pads;                        // before and after of each dim in turn, as the native ops have them
  bool same = false;                                // pads are not known yet: what the native padding SAME gives
};

// Reads strides, dilations, pads and auto_pad; `in` are the spatial sizes of the operand, unknown ones allowed. Absent, with the state set,
// where the attributes are wrong or a padding needs a size that is not known. `same_allowed`: the native op may find SAME_UPPER's padding
// itself.
std::optional<OnnxWindows> ReadOnnxWindows(Lowering& l, const Var* x, std::vector<int64_t> kernel, bool same_allowed);
// The attribute, or `n` times `fallback` where it is not given; the state set where it has another length.
std::vector<int64_t> IntsOr(Lowering& l, absl::string_view name, size_t n, int64_t fallback);
// The spatial dims of `x` (unknown ones allowed), whose rank is n + 2 or not known.
std::vector<int64_t> SpatialDims(const Var* x, size_t n);
// `values` with `first` in front: for a dim of size 1 that makes a line an image.
std::vector<int64_t> With(int64_t first, std::vector<int64_t> values);

}  // namespace ampc::onnx
