#include "graph/ops/conv_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Conv3DDef() {
  return Convolution("conv3d", 3, "3-D convolution of Input [n, c, d, h, w] (or n, d, h, w, c) with Filter [m, c / groups, kd, kh, kw].")
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes");
}

}  // namespace ampc::ops
