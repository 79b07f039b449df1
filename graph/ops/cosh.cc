#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef CoshDef() {
  return Unary("cosh", "Hyperbolic cosine.")
      .Alias("onnx", "Cosh")
      .CostIs(PerResult<8>)
      .Amp(kDeny, "the result leaves f16 where |x| is above 11.78");
}

}  // namespace ampc::ops
