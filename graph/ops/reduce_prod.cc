#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ReduceProdDef() {
  return Reduction("reduce_prod", "Product over the axes 'dim', or over all.")
      .Amp(kDeny, "the product leaves f16 above 65504: 16 factors of 2 are enough, and 25 factors of 1/2 give 0")
      .Alias("onnx", "ReduceProd")
      .GradientOp({"X Out", "Out", "X"});
}

}  // namespace ampc::ops
