#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AtanDef() {
  return Unary("atan", "Arc tangent of X, in [-pi/2, pi/2].")
      .Alias("onnx", "Atan")
      .CostIs(PerResult<10>)
      .Amp(kInfer, "computed in fp32 inside; never steeper than its operand, |result| < 1.58")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized});
}

}  // namespace ampc::ops
