#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SoftplusDef() {
  return Unary("softplus", "Out = log(1 + exp(beta * X)) / beta; X where beta * X is above threshold.")
      .A("beta", 1.0f)
      .A("threshold", 20.0f)
      .Alias("onnx", "Softplus")
      .CostIs(PerResult<8>)
      .Amp(kDeny, "below -17.33 the result is under 2^-25 and 0 in f16; what it protects from 0 (a logarithm, a divisor) becomes inf")
      .BoundsAre(&SoftplusBounds);
}

}  // namespace ampc::ops
