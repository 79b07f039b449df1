#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef HardSigmoidDef() {
  return Unary("hard_sigmoid", "Out = min(max(slope * X + offset, 0), 1).")
      .A("slope", 0.2f)
      .A("offset", 0.5f)
      .Alias("onnx", "HardSigmoid")
      .CostIs(PerResult<3>)
      .Amp(kInfer, "computed in fp32 inside; the result is at most 1, one rounding moves it by at most 2^-12")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&Between<0, 1>)
      .FusedActivation();
}

}  // namespace ampc::ops
