#include "graph/ops/families.h"

namespace ampc::ops {

OpDef NotEqualDef() {
  return Comparison("not_equal", "Out = X != Y element by element, broadcast; always bool. Floats closer than 1e-8 count as equal.");
}

}  // namespace ampc::ops
