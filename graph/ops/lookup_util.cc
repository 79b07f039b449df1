#include "graph/ops/lookup_util.h"

#include <utility>

#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferLookup(InferContext& ctx, bool column) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "W", 2, 2, 1));
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "Ids", 2));
  const TensorType& w = ctx.In("W");
  TensorType out = ctx.In("Ids").WithDType(w.dtype);
  if (out.has_rank) {
    if (column) {
      if (out.rank() == 0 || Differ(out.dims.back(), 1))
        return Fail(ctx, 3, "Ids is ", ToString(ctx.In("Ids")), ", needs a last dimension of 1");
      out.dims.pop_back();
    }
    out.dims.push_back(w.has_rank ? w.dims[1] : kUnknownDim);
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef LookupTable(std::string name, std::string doc, bool column) {
  return OpDef(name)
      .Doc(std::move(doc))
      .In("W")
      .In("Ids", kAsIs)
      .Out("Out")
      .A("is_sparse", false)
      .A("is_distributed", false)
      .A("padding_idx", int64_t{-1})
      .Extra("remote_prefetch", false)
      .Extra("trainer_id", 0)
      .Extra("slot", 0)
      .Extra("height_sections", Longs{})
      .Extra("epmap", Strings{})
      .Extra("table_names", Strings{})
      .Extra("grad_inplace", false)
      .Infer(column ? InferFn([](InferContext& ctx) { return InferLookup(ctx, true); })
                    : [](InferContext& ctx) { return InferLookup(ctx, false); })
      .CostIs([](const Op& op) {
        return Cost{0, 2 * Bytes(op.outputs()[0]->type) + Bytes(op.input("Ids")->type)};
      })
      .Amp(kClear, "moves rows without arithmetic; a low table is half the memory, and its rounding is that of any weight")
      .GradientOp({"W Ids", "Out", "W"})
      .BoundsAre(&PaddedBounds);
}

}  // namespace ampc::ops
