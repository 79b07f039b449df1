#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef LogsigmoidDef() {
  return Unary("logsigmoid", "Out = log(1 / (1 + exp(-X))).")
      .CostIs(PerResult<8>)
      .Amp(kDeny, "a log-probability above -2^-25 is 0 in f16, one near -1000 is off by up to 0.25: sums of them lose their order");
}

}  // namespace ampc::ops
