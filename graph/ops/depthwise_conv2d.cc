#include "graph/ops/conv_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef DepthwiseConv2DDef() {
  return Convolution("depthwise_conv2d", 2, "conv2d with as many groups as input channels: one filter per channel.")
      .Amp(kInfer,
           "accumulated in fp32; 9 multiply-adds per element for 3x3 keep matrix units idle, so it gains only where its operand is low "
           "already");
}

}  // namespace ampc::ops
