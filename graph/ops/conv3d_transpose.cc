#include "graph/ops/conv_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Conv3DTransposeDef() {
  return ConvolutionTransposed("conv3d_transpose", 3,
                               "Transposed 3-D convolution (the gradient of conv3d by its Input) with Filter [c, m / groups, kd, kh, kw].")
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes");
}

}  // namespace ampc::ops
