#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef GeluDef() {
  return Unary("gelu", "Out = X * Phi(X); by erf, or by tanh where 'approximate'.")
      .A("approximate", false)
      .CostIs(PerResult<12>)
      .Amp(kInfer, "computed in fp32 inside; |result| <= |x|, so it cannot overflow")
      .BoundsAre(&GatedBounds)
      .FusedActivation();
}

}  // namespace ampc::ops
