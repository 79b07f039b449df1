#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef FloorDef() {
  return Unary("floor", "The largest integer not above X.")
      .Alias("onnx", "Floor")
      .Amp(kWidest, "2.9997 is 3 in f16 and the step moves: the operand does not become low for it; exact on what it gets")
      .GradientOp({"", "Out", "X"})
      .Traits({OpTrait::kWhole});
}

}  // namespace ampc::ops
