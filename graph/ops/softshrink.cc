#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef SoftshrinkDef() {
  return Unary("softshrink", "X moved towards 0 by lambda; 0 where |X| <= lambda.")
      .A("lambda", 0.5f)
      .CostIs(PerResult<3>)
      .Amp(kInfer, "one subtraction that makes the value smaller, rounded once");
}

}  // namespace ampc::ops
