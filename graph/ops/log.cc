#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef LogDef() {
  return Unary("log", "Natural logarithm.")
      .Alias("onnx", "Log")
      .CostIs(PerResult<4>)
      .Amp(kDeny, "an operand below 2^-25 is 0 in f16 and gives -inf; near 1 the operand's rounding of 2^-12 becomes the whole result")
      .Traits({OpTrait::kLog, OpTrait::kSteepAtZero})
      .BoundsAre(&LogBounds);
}

}  // namespace ampc::ops
