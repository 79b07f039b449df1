#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef RsqrtDef() {
  return Unary("rsqrt", "Out = 1 / sqrt(X).")
      .CostIs(PerResult<3>)
      .Amp(kDeny, "an operand below 2^-25 (a variance, an epsilon) is 0 in f16 and gives inf")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kSteepAtZero, OpTrait::kReciprocal, OpTrait::kRoot})
      .BoundsAre(&InverseRootBounds);
}

}  // namespace ampc::ops
