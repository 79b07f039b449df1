#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef EluDef() {
  return Unary("elu", "Out = X, or alpha * (exp(X) - 1) where X < 0.")
      .A("alpha", 1.0f)
      .Alias("onnx", "Elu")
      .CostIs(PerResult<5>)
      .Amp(kInfer, "computed in fp32 inside; the exponential is taken below 0 only, the result lies above -alpha")
      .GradientOp({"X Out?", "Out", "X"})
      .BoundsAre(&EluBounds);
}

}  // namespace ampc::ops
