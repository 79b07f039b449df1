#include "graph/ops/detection_util.h"

namespace ampc::ops {

OpDef MulticlassNms2Def() {
  return MulticlassNms("multiclass_nms2",
                       "multiclass_nms that also says in Index [kept, 1] where the boxes were; without any kept box both are empty.", true,
                       false);
}

}  // namespace ampc::ops
