#include "graph/ops/conv_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Conv2DTransposeDef() {
  return ConvolutionTransposed("conv2d_transpose", 2,
                               "Transposed 2-D convolution (the gradient of conv2d by its Input) with Filter [c, m / groups, kh, kw].")
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .Alias("onnx", "ConvTranspose")
      .GradientOp({"Input Filter Bias", "Output", "Input Filter"});
}

}  // namespace ampc::ops
