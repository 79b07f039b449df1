#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAllReduce(InferContext& ctx) {
  for (int i = 0; i < ctx.Count("X"); ++i) {
    const DType dtype = ctx.In("X", i).dtype;
    if (dtype != DType::kInvalid && !IsFloat(dtype)) return Fail(ctx, 2, "operand ", i, " of X is ", Name(dtype), ", needs a float type");
  }
  return OutLikeX(ctx);
}

}  // namespace

OpDef CAllreduceSumDef() {
  OpDef def("c_allreduce_sum");
  def.Doc(
         "Out = the sum of X over all processes of the job, or its mean with 'average', computed in fp32; one process: X. Several operands "
         "travel together. Every process runs the op with operands of the same dims, in the same order.")
      .VarIn("X", kAsIs)
      .VarOut("Out", kAsIs)
      .A("average", false)
      .A("ring_id", 0)
      .Extra("use_calc_stream", false)
      .Extra("use_model_parallel", false)
      .Infer(InferAllReduce)
      .CostIs(UnscaleCost)
      .Amp(kNever, "moves gradients between processes as they are")
      .Gradient("none: runs on gradients")
      .Impure();
  for (SlotDef& slot : def.outputs) slot.overwrites = true;
  return def;
}

}  // namespace ampc::ops
