#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef TanDef() {
  return Unary("tan", "Tangent of X in radians.")
      .Alias("onnx", "Tan")
      .CostIs(PerResult<12>)
      .Amp(kDeny, "an f16 angle near 1000 is off by up to 0.25, and near its poles the result leaves f16")
      .Traits({OpTrait::kPeriodic});
}

}  // namespace ampc::ops
