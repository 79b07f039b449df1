#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SinhDef() {
  return Unary("sinh", "Hyperbolic sine.")
      .Alias("onnx", "Sinh")
      .CostIs(PerResult<8>)
      .Amp(kDeny, "the result leaves f16 where |x| is above 11.78");
}

}  // namespace ampc::ops
