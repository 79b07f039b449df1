// Common parts of the optimizer ops (sgd, momentum, adam).
#pragma once

#include <string>

#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

// c1: Grad has the shape of Param. c2: and its type, or f32 beside a low Param. c3: multi_precision and MasterParam stand
// together, and MasterParam has the shape of Param in f32. c4: LearningRate is one f32 (f64 beside an f64 Param). c5: SkipUpdate is one
// bool. c9: GradScale is one f32 or f64.
absl::Status CheckOptimizer(InferContext& ctx);
// The operand is a moment of Param: its shape, in f32 beside a low Param or with a master weight, else in Param's type.
absl::Status NeedMoment(const InferContext& ctx, absl::string_view slot, int c);
// The result has the type of the operand in `in`.
void OutAs(InferContext& ctx, absl::string_view out, absl::string_view in);
// Adds what every optimizer op has: Param, Grad, LearningRate, MasterParam, SkipUpdate, GradScale (what Grad is divided by, in the type
// that is computed in; plans put it in); ParamOut, MasterParamOut; multi_precision.
OpDef Optimizer(std::string name, std::string doc);

}  // namespace ampc::ops
