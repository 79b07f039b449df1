#include "graph/ops/detection_util.h"

namespace ampc::ops {

OpDef MulticlassNms3Def() {
  return MulticlassNms("multiclass_nms3",
                       "multiclass_nms2 with the number of kept boxes per image in NmsRoisNum; RoisNum gives the boxes per image of Scores "
                       "[boxes, classes].",
                       true, true);
}

}  // namespace ampc::ops
