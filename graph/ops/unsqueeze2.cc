#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef Unsqueeze2Def() {
  return Unsqueeze("unsqueeze2", "X with dimensions of size 1 inserted at 'axes', one after the other. XShape keeps the shape of X.")
      .OptOut("XShape")
      .Gradient("unsqueeze2_grad");
}

}  // namespace ampc::ops
