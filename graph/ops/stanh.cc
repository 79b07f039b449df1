#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef StanhDef() {
  return Unary("stanh", "Out = scale_b * tanh(scale_a * X).")
      .A("scale_a", 0.67f)
      .A("scale_b", 1.7159f)
      .CostIs(PerResult<6>)
      .Amp(kInfer, "computed in fp32 inside; the result is at most scale_b");
}

}  // namespace ampc::ops
