// The operands and attributes of a Scan: which operands are states, along which axes the others are cut.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/op.h"

namespace ampc::onnx {

struct ScanAxes {
  // Scan of operator set 8: dim 0 of everything is the batch, whose samples are scanned one after the other along dim 1.
  bool batched = false;
  absl::Span<Var* const> operands;  // states, then scan inputs
  int states = 0;
  int outputs = 0;  // scan outputs, which follow the states among the results
  // One per scan input and output. Axes may be negative; without the batch. True: from the end to the beginning.
  std::vector<int64_t> in_axes, out_axes;
  std::vector<bool> in_reversed, out_reversed;

  int inputs() const { return static_cast<int>(operands.size()) - states; }
  // Of operand `i` as the body sees it.
  TensorType EntryType(int i) const;
  // Of scan output `i`, whose element is `element`.
  TensorType OutputType(int i, const TensorType& element) const;
};

// BadInput where the attributes do not fit the operands and results.
absl::StatusOr<ScanAxes> ReadScanAxes(const Op& op);

}  // namespace ampc::onnx
