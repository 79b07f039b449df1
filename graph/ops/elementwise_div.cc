#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseDivDef() {
  return Elementwise("elementwise_div", "Out = X / Y, the shorter shape broadcast from 'axis'.")
      .Amp(kInfer, "one rounding; overflows f16 only for |y| below |x| / 65504; denominators kept from 0 by an epsilon are protected apart")
      .Alias("onnx", "Div")
      .GradientOp({"X Y Out", "Out", "X Y"})
      .Traits({OpTrait::kSteepAtZero, OpTrait::kDivision, OpTrait::kArithmetic})
      .BoundsAre(&QuotientBounds);
}

}  // namespace ampc::ops
