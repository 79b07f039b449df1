// What the convolutions and the transposed convolutions share, over two or three spatial dimensions.
#pragma once

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// Input, Filter, Bias, ResidualData -> Output with the attributes of Paddle's conv2d and conv3d; forward inference and cost.
OpDef Convolution(std::string name, int spatial, std::string doc);
// Input, Filter, Bias -> Output with the attributes of Paddle's conv2d_transpose and conv3d_transpose; inference and cost.
OpDef ConvolutionTransposed(std::string name, int spatial, std::string doc);
// Paddle's attributes that every convolution carries without meaning here.
OpDef& ConvExtras(OpDef& def);
// Constraints c1 (ranks), c2 (data_format), c3 (groups), c4 (one dtype).
absl::Status CheckConvOperands(const InferContext& ctx, int spatial);
// Bias has one element per output channel, of the type of Input.
absl::Status CheckConvBias(const InferContext& ctx, int64_t channels, int c);

}  // namespace ampc::ops
