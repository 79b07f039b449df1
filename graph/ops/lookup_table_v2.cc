#include "graph/ops/infer_util.h"
#include "graph/ops/lookup_util.h"

namespace ampc::ops {

OpDef LookupTableV2Def() {
  return LookupTable("lookup_table_v2", "Out[.., :] = W[Ids[..], :]; a row of zeros where Ids is padding_idx (-1: nowhere).", false);
}

}  // namespace ampc::ops
