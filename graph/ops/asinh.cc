#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef AsinhDef() {
  return Unary("asinh", "Inverse hyperbolic sine.")
      .Alias("onnx", "Asinh")
      .CostIs(PerResult<10>)
      .Amp(kInfer, "computed in fp32 inside; |result| <= |x|, never steeper than its operand");
}

}  // namespace ampc::ops
