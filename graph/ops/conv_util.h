// What conv2d, depthwise_conv2d and conv2d_transpose share.
#pragma once

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// Input, Filter, Bias, ResidualData -> Output with the attributes of Paddle's conv2d; forward inference and cost.
OpDef Convolution(std::string name, std::string doc);
// Paddle's attributes that every convolution carries without meaning here.
OpDef& ConvExtras(OpDef& def);
// Constraints c1 (ranks), c2 (data_format), c3 (groups), c4 (one dtype).
absl::Status CheckConvOperands(const InferContext& ctx);
// Bias has one element per output channel, of the type of Input.
absl::Status CheckConvBias(const InferContext& ctx, int64_t channels, int c);

}  // namespace ampc::ops
