#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Expm1Def() {
  return Unary("expm1", "exp(X) - 1, exact near 0.")
      .CostIs(PerResult<5>)
      .Amp(kDeny, "overflows f16 above 11.09")
      .GradientOp({"Out", "Out", "X"});
}

}  // namespace ampc::ops
