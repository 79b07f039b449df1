#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SigmoidDef() {
  return Unary("sigmoid", "Out = 1 / (1 + exp(-X)), in [0, 1].")
      .Alias("onnx", "Sigmoid")
      .CostIs(PerResult<4>)
      .Amp(kInfer, "computed in fp32 inside; the result is at most 1, one rounding moves it by at most 2^-12")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&Between<0, 1>)
      .FusedActivation();
}

}  // namespace ampc::ops
