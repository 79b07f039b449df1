#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseModDef() {
  return Elementwise("elementwise_mod", "The remainder of X / Y with the sign of Y, the shorter shape broadcast from 'axis'.")
      .Amp(kWidest, "near 1000 an f16 operand is off by up to 0.25, and so is the remainder: the operands do not become low for it")
      .Alias("onnx", "Mod")
      .Traits({OpTrait::kRemainder});
}

}  // namespace ampc::ops
