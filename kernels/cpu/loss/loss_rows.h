// LossRows: what cross entropies and their gradients read alike.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/cpu/base/axis_split.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// The rows are the classes of one label each.
struct LossRows : AxisSplit {
  std::string name;  // of the op, for messages
  int label = -1;    // flat operand
  bool soft = false;
  int64_t ignore = -100;
  DType label_type = DType::kI64;
};

// From the attributes, Label, and `x`, whose classes lie along `axis` (from the end when negative).
absl::Status ReadLossRows(const SpecView& view, const TensorDesc& x, int64_t axis, LossRows* rows);
// Usage error that names the first hard label that is neither a class nor ignore_index.
absl::Status CheckLabels(const LossRows& rows, const void* labels);

}  // namespace ampc
