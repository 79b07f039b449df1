#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ErfDef() {
  return Unary("erf", "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to X.")
      .Alias("onnx", "Erf")
      .CostIs(PerResult<10>)
      .Amp(kInfer, "computed in fp32 inside; the result is at most 1, one rounding moves it by at most 2^-12")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&Between<-1, 1>);
}

}  // namespace ampc::ops
