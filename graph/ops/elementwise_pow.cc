#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwisePowDef() {
  return Elementwise("elementwise_pow", "Out = X raised to Y, the shorter shape broadcast from 'axis'.")
      .Amp(kDeny, "256^2 is above 65504; the operand's relative error of 2^-11 is multiplied by the exponent")
      .Alias("onnx", "Pow")
      .Traits({OpTrait::kSteepAtZero, OpTrait::kPower});
}

}  // namespace ampc::ops
