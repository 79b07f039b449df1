#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef RoundDef() {
  return Unary("round", "The nearest integer; halves away from 0.")
      .Amp(kWidest, "2.9997 is 3 in f16 and the step moves: the operand does not become low for it; exact on what it gets")
      .GradientOp({"", "Out", "X"})
      .Traits({OpTrait::kWhole});
}

}  // namespace ampc::ops
