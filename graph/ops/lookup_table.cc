#include "graph/ops/infer_util.h"
#include "graph/ops/lookup_util.h"

namespace ampc::ops {

OpDef LookupTableDef() {
  return LookupTable("lookup_table", "lookup_table_v2 for Ids with a last dimension of 1, which the result drops.", true);
}

}  // namespace ampc::ops
