// Padding and its gradient.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/pad_source.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/cuda/move/offsets.h"

namespace ampc::cuda {

struct PadAxis {
  int64_t in = 1, before = 0, step = 0;  // step: of the operand's positions, in units of `run`
  Divider out;
};

// Outermost first. Runs of `run` bytes are copied whole, or filled with the element.
struct PadParams {
  int rank = 0;
  PadAxis axes[kMaxAxes];
  PadMode mode = PadMode::kConstant;
  int64_t run = 0;
  FillElement element;  // as often as 16 bytes hold it
};
// The result is not empty.
int LaunchPad(void* stream, const PadParams& p, const void* x, void* out);

struct PadGradientParams {
  int rank = 0;
  struct Axis {
    Divider in;
    int64_t before = 0, shown = 0, step = 0;  // shown: padded positions; step: elements from one to the next
  } axes[kMaxAxes];
  PadMode mode = PadMode::kConstant;
  DType type = DType::kF32;  // a float
};
// Each element is the sum, in double, of the positions that show it. The result is not empty.
int LaunchPadGradient(void* stream, const PadGradientParams& p, const void* gradient, void* out);

}  // namespace ampc::cuda
