// Common parts of adam, adamw and lamb.
#pragma once

#include <string>

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// Optimizer (graph/ops/optimizer_util.h) with Moment1, Moment2, Beta1Pow, Beta2Pow, their results, beta1, beta2 and epsilon.
// c6: a moment has the shape of Param, c7: a power is one element.
OpDef WithMoments(std::string name, std::string doc, float epsilon);
absl::Status InferMoments(InferContext& ctx);

// The same for adam and adamw, which also take beta1, beta2 and epsilon as operands of one element (c8).
OpDef AdamLike(std::string name, std::string doc);
absl::Status InferAdamLike(InferContext& ctx);

}  // namespace ampc::ops
