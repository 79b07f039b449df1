#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ReciprocalDef() {
  return Unary("reciprocal", "Out = 1 / X.")
      .Alias("onnx", "Reciprocal")
      .Amp(kDeny, "the result leaves f16 for |x| below 1.53e-5, and an operand below 2^-25 is 0 in f16")
      .GradientOp({"Out", "Out", "X"})
      .Traits({OpTrait::kSteepAtZero, OpTrait::kReciprocal})
      .BoundsAre(&ReciprocalBounds);
}

}  // namespace ampc::ops
