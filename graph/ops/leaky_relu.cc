#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef LeakyReluDef() {
  return Unary("leaky_relu", "Out = X, or alpha * X where X < 0.")
      .A("alpha", 0.02f)
      .Alias("onnx", "LeakyRelu")
      .CostIs(PerResult<2>)
      .Amp(kInfer, "computed in fp32 inside with one rounding; |result| <= |x| for the usual alpha of at most 1")
      .BoundsAre(&LeakyBounds)
      .FusedActivation();
}

}  // namespace ampc::ops
