// Ops that make, decode and select boxes.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// BBoxes, Scores -> Out [kept, 2 + box size]: label, score, box. `index`: where the kept boxes were; `counts`: RoisNum and NmsRoisNum,
// boxes per image.
OpDef MulticlassNms(std::string name, std::string doc, bool index, bool counts);
// Checks X, ROIs, RoisNum, pooled_height, pooled_width and spatial_scale (constraints 1 to 6): the type of the bins of each box.
absl::StatusOr<TensorType> InferRegions(InferContext& ctx);
// Why boxes are not computed in f16.
OpDef& BoxAmp(OpDef& def);

}  // namespace ampc::ops
