#include "graph/ops/families.h"

namespace ampc::ops {

OpDef ReduceAnyDef() {
  return LogicalReduction("reduce_any", "Whether some element over the axes is true; a number is true unless it is 0.");
}

}  // namespace ampc::ops
