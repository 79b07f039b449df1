#include "graph/ops/adam_util.h"
#include "graph/ops/cost_util.h"

namespace ampc::ops {

OpDef AdamDef() {
  return AdamLike("adam",
                  "m = beta1 * Moment1 + (1 - beta1) * Grad; v = beta2 * Moment2 + (1 - beta2) * Grad^2; Param -= LearningRate * "
                  "sqrt(1 - Beta2Pow) / (1 - Beta1Pow) * m / (sqrt(v) + epsilon * sqrt(1 - Beta2Pow)); Beta1Pow *= beta1, Beta2Pow *= "
                  "beta2 unless use_global_beta_pow. Nothing changes where SkipUpdate.")
      .CostIs(PerOperand<15>);
}

}  // namespace ampc::ops
