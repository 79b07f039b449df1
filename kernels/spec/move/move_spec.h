// Moves: ops that do nothing but copy elements from strided places of operands to strided places of results. The one place that reads
// them, for every device.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/kernel_registry.h"

namespace ampc {

// An n-dimensional copy; everything counts elements. Source strides may be 0 (repeat) or negative; destinations are distinct.
struct MovePart {
  int input = 0;     // flat operand,
  int64_t from = 0;  // and the first element
  int output = 0;    // flat result
  int64_t to = 0;
  std::vector<int64_t> dims, from_strides, to_strides;
};

struct MoveSpec {
  std::vector<MovePart> parts;  // between arrays of one element type
  int alias_input = -1;         // the operand that the one result equals byte for byte
  int zeroed = -1;              // the result that is 0 where no part writes
};

struct MoveOp {
  const char* op;
  absl::StatusOr<MoveSpec> (*read)(const SpecView& view);
  LayoutSupport layouts = LayoutSupport::kPlainOnly;
};

// Every such op; each moves all of MovableTypes().
absl::Span<const MoveOp> MoveOps();
// Of an op among MoveOps().
absl::StatusOr<MoveSpec> ReadMove(const KernelSpec& spec);

}  // namespace ampc
