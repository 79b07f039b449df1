#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SoftsignDef() {
  return Unary("softsign", "Out = X / (1 + |X|), in [-1, 1].")
      .Alias("onnx", "Softsign")
      .CostIs(PerResult<3>)
      .Amp(kInfer, "computed in fp32 inside; the result is at most 1, one rounding moves it by at most 2^-12")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&Between<-1, 1>);
}

}  // namespace ampc::ops
