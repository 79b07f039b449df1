#include "graph/ops/detection_util.h"

namespace ampc::ops {

OpDef MulticlassNmsDef() {
  return MulticlassNms("multiclass_nms",
                       "Per class the boxes that overlap no better one by more than nms_threshold, at most keep_top_k per image: Out "
                       "[kept, 6] is label, score, box; a single -1 where nothing is kept.",
                       false, false);
}

}  // namespace ampc::ops
