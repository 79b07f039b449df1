#include "graph/ops/cost_util.h"
#include "graph/ops/optimizer_util.h"

namespace ampc::ops {

OpDef SgdDef() {
  return Optimizer("sgd", "Param -= LearningRate * Grad. Nothing changes where SkipUpdate.").Infer(CheckOptimizer).CostIs(PerOperand<2>);
}

}  // namespace ampc::ops
