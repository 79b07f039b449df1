// Parameters of pad, pad2d, pad3d and their gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/common/pad_source.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

struct PadSpec {
  std::vector<int64_t> before;  // per dimension of X
  PadMode mode = PadMode::kConstant;
  double value = 0;
};
// From dims `in` to `out`, of one rank; every source position exists.
absl::StatusOr<PadSpec> ReadPadding(const SpecView& view, const Dims& in, const Dims& out);

}  // namespace ampc
