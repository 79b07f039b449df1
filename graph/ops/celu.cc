#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef CeluDef() {
  return Unary("celu", "Out = X, or alpha * (exp(X / alpha) - 1) where X < 0.")
      .A("alpha", 1.0f)
      .Alias("onnx", "Celu")
      .CostIs(PerResult<6>)
      .Amp(kInfer, "computed in fp32 inside; the exponential is taken below 0 only, the result lies above -alpha");
}

}  // namespace ampc::ops
