#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef MishDef() {
  return Unary("mish", "Out = X * tanh(softplus(X)); above threshold softplus(X) is X.")
      .A("threshold", 20.0f)
      .Alias("onnx", "Mish")
      .CostIs(PerResult<8>)
      .Amp(kInfer, "computed in fp32 inside; |result| <= |x|, so it cannot overflow")
      .BoundsAre(&GatedBounds);
}

}  // namespace ampc::ops
