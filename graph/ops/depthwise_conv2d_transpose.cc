#include "graph/ops/conv_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef DepthwiseConv2DTransposeDef() {
  return ConvolutionTransposed("depthwise_conv2d_transpose", 2,
                               "conv2d_transpose with as many groups as input channels: one filter per channel.")
      .Amp(kInfer,
           "accumulated in fp32; 16 multiply-adds per element for 4x4 keep matrix units idle, so it gains only where its operand is low "
           "already")
      .GradientOp({"Input Filter Bias", "Output", "Input Filter"})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
