#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef FrobeniusNormDef() {
  return Reduction("frobenius_norm", "The square root of the sum of squares over the axes 'dim', or over all.")
      .CostIs(PerOperand<2>)
      .Amp(kDeny, "1024 values of 2048 have the norm 65536, above 65504; fp32 inside does not help the result")
      .Alias("onnx", "ReduceL2")
      .GradientOp({"X Out", "Out", "X"})
      .NotLowOnCuda();
}

}  // namespace ampc::ops
