#include "graph/ops/bounds.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseMulDef() {
  return Elementwise("elementwise_mul", "Out = X * Y, the shorter shape broadcast from 'axis'.")
      .Amp(kInfer, "one rounding; masks and gates scale by about 1; a square of a large value is op square, which is denied")
      .Alias("onnx", "Mul")
      .Traits({OpTrait::kProduct, OpTrait::kArithmetic})
      .BoundsAre(&ProductBounds);
}

}  // namespace ampc::ops
