#include "graph/ops/conv_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Conv2DDef() {
  return Convolution(
             "conv2d", 2,
             "2-D convolution of Input [n, c, h, w] (or n, h, w, c) with Filter [m, c / groups, kh, kw], plus Bias and ResidualData "
             "where given.")
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .Alias("onnx", "Conv");
}

}  // namespace ampc::ops
