#include "graph/ops/sort_util.h"

namespace ampc::ops {
namespace {

absl::Status InferArgsort(InferContext& ctx) { return InferSorted(ctx, ctx.op().GetInt("axis"), std::nullopt, 1); }

}  // namespace

OpDef ArgsortDef() {
  OpDef def("argsort");
  def.Doc("Out: X sorted along 'axis', Indices: where its elements were; equal elements stay in order, and NaN is above every number.")
      .In("X")
      .Out("Out")
      .Out("Indices", kAsIs)
      .A("axis", -1)
      .A("descending", false)
      .Extra("stable", false)
      .Infer(InferArgsort)
      .GradientOp({"X Indices", "Out", "X"});
  return SortAmp(def);
}

}  // namespace ampc::ops
