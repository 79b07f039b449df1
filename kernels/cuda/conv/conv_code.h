// Launchers of the convolutions' device code.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/activation.h"
#include "kernels/cuda/base/volume.h"

namespace ampc::cuda {

// The terms added to a sum before it is rounded: bias[c], then the residual, then the activation.
struct ConvEpilogue {
  const void* bias = nullptr;  // null: none
  DType bias_type = DType::kF32;
  Volume residual;  // data null: none; of the result's type
  Activation activation;
};

// A convolution from x to y with the filter w [output channels, input channels of a group, window], any groups, in float32: y[o] += x[o *
// step + tap * dilation - before] * w[tap].
struct DirectConv {
  Volume x, w, y;
  int64_t groups = 1;
  int64_t step[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, before[3] = {};
};

// Each writes one of the three tensors from the other two. x and y have one type, w that or f32.
int LaunchDirectForward(void* stream, const DirectConv& conv, const ConvEpilogue& epilogue);
int LaunchDirectInputGradient(void* stream, const DirectConv& conv, const ConvEpilogue& epilogue);
// `partial`: DirectFilterPartialBytes. Sums are added up in an order that depends on the sizes alone.
int LaunchDirectFilterGradient(void* stream, const DirectConv& conv, void* partial);
int64_t DirectFilterPartialBytes(const DirectConv& conv);

// If neighbouring channels can be taken in packs of 16 bytes: one filter per channel, x and y channels last and, once known, at such
// addresses.
bool IsDepthwisePacked(const DirectConv& conv);
// The result, or the gradient of x, of such a one; `filter` is f32 [window, channels] in place of w.
int LaunchDepthwisePacked(void* stream, const DirectConv& conv, bool forward, const ConvEpilogue& epilogue, const float* filter);

// The epilogue on the values of `from`, which are of the type of `to` or f32; each in its layout, in place where both are alike.
int LaunchConvEpilogue(void* stream, const Volume& from, const Volume& to, const ConvEpilogue& epilogue);

// to[b][c][r] = from[b][r][c], rounded to the other type.
int LaunchConvTranspose(void* stream, int64_t batch, int64_t rows, int64_t cols, DType from_type, const void* from, DType to_type,
                        void* to);

}  // namespace ampc::cuda
