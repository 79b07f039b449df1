#include "graph/ops/unstack_util.h"

namespace ampc::ops {

OpDef UnbindDef() { return Unstack("unbind", "Out"); }

}  // namespace ampc::ops
