// The rows that operands of fused_elementwise are read by: as few dimensions as possible, the last one contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kernels/spec/fused_spec.h"

namespace ampc {

struct FusedRows {
  struct Operand {
    std::vector<int64_t> stride;  // by dim of `outer`, in elements; 0 where it repeats
    bool along = true;            // a row is as long as the result's; else one element
    bool dense = false;           // lies as the result does
    bool repeats = false;         // the same row each time
  };
  std::vector<int64_t> outer;  // dimensions before the last, innermost first
  int64_t inner = 1, rows = 1;
  std::vector<Operand> operands;
};

FusedRows JoinFused(const FusedSpec& spec);

// A row of the result, and where the operands' rows begin.
class FusedCursor {
 public:
  FusedCursor(const FusedRows& rows, int64_t row);
  void Next();
  int64_t offset(int operand) const { return offset_[operand]; }

 private:
  const FusedRows& rows_;
  absl::InlinedVector<int64_t, 4> at_;
  absl::InlinedVector<int64_t, 8> offset_;
};

}  // namespace ampc
