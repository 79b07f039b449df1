#include "graph/ops/adam_util.h"
#include "graph/ops/cost_util.h"

namespace ampc::ops {

OpDef AdamwDef() {
  return AdamLike("adamw",
                  "Param *= 1 - lr_ratio * LearningRate * coeff where with_decay, then as adam with lr_ratio * LearningRate. Nothing "
                  "changes where SkipUpdate.")
      .A("lr_ratio", 1.0f)
      .A("coeff", 0.01f)
      .A("with_decay", false)
      .CostIs(PerOperand<16>);
}

}  // namespace ampc::ops
