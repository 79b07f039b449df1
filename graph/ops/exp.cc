#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ExpDef() {
  return Unary("exp", "Natural exponential.")
      .Alias("onnx", "Exp")
      .CostIs(PerResult<4>)
      .Amp(kDeny, "exp overflows f16 above 11.09 and is 0 below -17.33")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kExp})
      .BoundsAre(&ExpBounds);
}

}  // namespace ampc::ops
