#include "graph/ops/bounds.h"
#include "graph/ops/unstack_util.h"

namespace ampc::ops {

OpDef UnstackDef() { return Unstack("unstack", "Y").A("num", 0).BoundsAre(&MovedBounds); }

}  // namespace ampc::ops
