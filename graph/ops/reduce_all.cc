#include "graph/ops/families.h"

namespace ampc::ops {

OpDef ReduceAllDef() {
  return LogicalReduction("reduce_all", "Whether every element over the axes is true; a number is true unless it is 0.");
}

}  // namespace ampc::ops
