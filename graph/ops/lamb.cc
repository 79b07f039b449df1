#include "graph/ops/adam_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef LambDef() {
  return WithMoments(
             "lamb",
             "m = beta1 * Moment1 + (1 - beta1) * Grad; v = beta2 * Moment2 + (1 - beta2) * Grad^2; d = m / (1 - Beta1Pow) / "
             "(sqrt(v / (1 - Beta2Pow)) + epsilon) + weight_decay * Param; Param -= LearningRate * r * d, where r is |Param| / |d|, "
             "or 1 where one of them is 0, or weight_decay is 0 without always_adapt; Beta1Pow *= beta1, Beta2Pow *= beta2. Nothing "
             "changes where SkipUpdate.",
             1e-6f)
      .Required("weight_decay", 0.0f)
      .A("always_adapt", false)
      .CostIs(PerOperand<20>);
}

}  // namespace ampc::ops
