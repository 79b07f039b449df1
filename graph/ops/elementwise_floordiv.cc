#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef ElementwiseFloordivDef() {
  return Elementwise("elementwise_floordiv", "X / Y rounded down, the shorter shape broadcast from 'axis'.")
      .Amp(kWidest, "2.9997 is 3 in f16 and the step moves: the operands do not become low for it; exact on what it gets")
      .Gradient("none: a step function")
      .Traits({OpTrait::kWhole});
}

}  // namespace ampc::ops
