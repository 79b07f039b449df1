// Common parts of the convolutions and the transposed convolutions, over two or three spatial dimensions.
#pragma once

#include "graph/infer_context.h"
#include "graph/op_def.h"
#include "graph/ops/window.h"

namespace ampc::ops {

// Input, Filter, Bias, ResidualData -> Output with the attributes of Paddle's conv2d and conv3d; forward inference and cost.
OpDef Convolution(std::string name, int spatial, std::string doc);
// Input, Filter, Bias -> Output with the attributes of Paddle's conv2d_transpose and conv3d_transpose; inference and cost.
OpDef ConvolutionTransposed(std::string name, int spatial, std::string doc);
// Paddle's attributes that every convolution carries without meaning here.
OpDef& ConvExtras(OpDef& def);
// Constraints c1 (ranks), c2 (data_format), c3 (groups), c4 (one dtype).
absl::Status CheckConvOperands(const InferContext& ctx, int spatial);
// Input of a convolution whose operands CheckConvOperands found good and whose Filter has a rank.
struct ConvInput {
  Dims dims;             // unknown ones where Input has no rank
  int64_t channels = 0;  // or unknown
  int64_t groups = 1;
  int channel = 1;  // which of dims: the channels
  int first = 2;    // the first of the spatial ones
};
ConvInput ReadConvInput(const InferContext& ctx, int spatial);
// Constraint c7 (strides, paddings, dilations).
absl::StatusOr<Windows> ReadConvWindows(const InferContext& ctx, const ConvInput& in);
// Bias has one element per output channel, of the type of Input.
absl::Status CheckConvBias(const InferContext& ctx, int64_t channels, int c);

}  // namespace ampc::ops
