#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef TanhDef() {
  return Unary("tanh", "Hyperbolic tangent, in [-1, 1].")
      .Alias("onnx", "Tanh")
      .CostIs(PerResult<6>)
      .Amp(kInfer, "computed in fp32 inside; the result is at most 1, one rounding moves it by at most 2^-12")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&Between<-1, 1>)
      .FusedActivation();
}

}  // namespace ampc::ops
