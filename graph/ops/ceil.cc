#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef CeilDef() {
  return Unary("ceil", "The smallest integer not below X.")
      .Alias("onnx", "Ceil")
      .Amp(kWidest, "2.9997 is 3 in f16 and the step moves: the operand does not become low for it; exact on what it gets")
      .GradientOp({"", "Out", "X"})
      .Traits({OpTrait::kWhole});
}

}  // namespace ampc::ops
