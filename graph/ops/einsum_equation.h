// The equation of einsum over operands of given ranks: the one place that parses it, for inference and kernels.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ampc::ops {

// A label per dimension. Labels are letters, or 0, 1, ... for the dimensions of an ellipsis, counted from the last.
struct EinsumEquation {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};
inline bool IsEllipsisLabel(int label) { return label < 'A'; }

// Spaces count for nothing. Without "->" the result has the dimensions of the ellipsis and the labels that occur once, sorted. The
// error is a sentence without a place.
absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation, absl::Span<const int> ranks);

}  // namespace ampc::ops
