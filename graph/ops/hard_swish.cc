#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef HardSwishDef() {
  return Unary("hard_swish", "Out = X * min(max(X + offset, 0), threshold) / scale.")
      .A("threshold", 6.0f)
      .A("scale", 6.0f)
      .A("offset", 3.0f)
      .Alias("onnx", "HardSwish")
      .CostIs(PerResult<4>)
      .Amp(kInfer, "computed in fp32 inside; |result| <= |x| with the usual 6/6/3, so it cannot overflow")
      .BoundsAre(&HardSwishBounds)
      .FusedActivation();
}

}  // namespace ampc::ops
