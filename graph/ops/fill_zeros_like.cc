#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

OpDef FillZerosLikeDef() {
  return OpDef("fill_zeros_like")
      .Doc("Zeros with the shape and type of X.")
      .In("X")
      .Out("Out")
      .Infer(InferSame)
      .CostIs(MoveCost)
      .Amp(kClear, "reads no value of X; 0 is exact in every type")
      .Gradient("none: X gives its shape only");
}

}  // namespace ampc::ops
