// Sliding windows of convolution and pooling: the one place that reads strides, paddings, dilations and padding_algorithm.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/size.h"
#include "graph/op.h"

namespace ampc::ops {

struct Window {  // along one spatial dimension
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // padding
  int64_t after = 0;
};
using Windows = absl::InlinedVector<Window, 3>;

// The most of a stride, a dilation, a padding, and of the positions from the first to the last of a window: libraries add several of them
// in 32 bits.
inline constexpr int64_t kMostWindow = int64_t{1} << 28;
// Positions from the first to the last that the window covers.
inline int64_t Reach(const Window& w) { return SatAdd(SatMul(w.dilation, w.kernel - 1), 1); }

// NHWC, NDHWC, NLC.
bool ChannelsLast(absl::string_view layout);

// One window per element of `in`, the spatial sizes of the operand (unknown allowed); `kernel` has as many. SAME padding follows
// Paddle: the output is ceil(in / stride), the odd element goes after, and dilation is 1. No number, and no reach of a window, is above
// kMostWindow. The error is a sentence without a place.
absl::StatusOr<Windows> ReadWindows(const Op& op, absl::Span<const int64_t> in, absl::Span<const int64_t> kernel);

// Positions of the window along `in`; kUnknownDim when `in` or the kernel is unknown, 0 or less when the window does not fit.
int64_t WindowOutput(const Window& w, int64_t in, bool ceil_mode = false);

}  // namespace ampc::ops
