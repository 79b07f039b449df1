#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef Log1pDef() {
  return Unary("log1p", "log(1 + X), exact near 0.")
      .CostIs(PerResult<5>)
      .Amp(kDeny, "an operand within 2^-12 of -1 is -1 in f16 and gives -inf");
}

}  // namespace ampc::ops
