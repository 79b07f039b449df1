#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SeluDef() {
  return Unary("selu", "Out = scale * X, or scale * alpha * (exp(X) - 1) where X <= 0.")
      .A("scale", 1.0507010221481323f)
      .A("alpha", 1.6732631921768188f)
      .Alias("onnx", "Selu")
      .CostIs(PerResult<5>)
      .Amp(kInfer, "computed in fp32 inside; with the usual 1.05 the result is inf only above 62360")
      .GradientOp({"Out", "Out", "X"});
}

}  // namespace ampc::ops
