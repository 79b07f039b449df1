#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AbsDef() {
  return Unary("abs", "Absolute value.")
      .Alias("onnx", "Abs")
      .CostIs(PerResult<1>)
      .Amp(kClear, "drops the sign: exact in every type")
      .BoundsAre(&AbsBounds);
}

}  // namespace ampc::ops
