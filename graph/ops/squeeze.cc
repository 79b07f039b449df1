#include "graph/ops/reshape_util.h"

namespace ampc::ops {

OpDef SqueezeDef() {
  return Squeeze("squeeze", "X without the dimensions 'axes' that are 1; without axes every 1 goes.").Gradient("squeeze_grad");
}

}  // namespace ampc::ops
