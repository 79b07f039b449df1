// Gradients of ops that repeat elements (expand, tile, meshgrid): what every repeat of an element receives is added up.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// The operand is dense over `dims`; those that `summed` marks are added up, the result is dense over the others.
struct RepeatSpec {
  int input = 0, output = 0;  // flat
  std::vector<int64_t> dims;
  std::vector<bool> summed;
};
// Of expand_as_v2_grad, expand_v2_grad, tile_grad and meshgrid_grad.
absl::StatusOr<std::vector<RepeatSpec>> ReadRepeats(const SpecView& view);

// Innermost first; without dimensions of size 1, neighbours of a kind joined.
struct RepeatAxis {
  int64_t size, stride;  // in elements of the operand
  bool summed;
};
std::vector<RepeatAxis> JoinRepeats(absl::Span<const int64_t> dims, const std::vector<bool>& summed);

}  // namespace ampc
