#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/pad_util.h"

namespace ampc::ops {
namespace {

absl::Status InferPad(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 1, 9, 1));
  TensorType out = ctx.In("X");
  const std::vector<int64_t> pads = ctx.op().GetInts("paddings");
  for (int64_t pad : pads) {
    if (pad < 0) return Fail(ctx, 2, "paddings has ", pad, ", needs 0 or more");
  }
  if (out.has_rank) {
    if (static_cast<int>(pads.size()) != 2 * out.rank()) {
      return Fail(ctx, 3, "paddings has ", pads.size(), " numbers, needs ", 2 * out.rank(), ": two per dimension of X");
    }
    for (int i = 0; i < out.rank(); ++i) AMPC_RETURN_IF_ERROR(PadDim(ctx, pads[2 * i], pads[2 * i + 1], false, 4, &out.dims[i]));
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

// The part that was there before the padding.
absl::Status InferPadGradient(InferContext& ctx) {
  TensorType type = ctx.In("Out@GRAD");
  const std::vector<int64_t> paddings = ctx.op().GetInts("paddings");
  if (type.has_rank && paddings.size() != 2 * type.dims.size())
    return Fail(ctx, 1, "paddings has ", paddings.size(), " numbers for rank ", type.rank());
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (IsKnown(type.dims[i])) type.dims[i] -= paddings[2 * i] + paddings[2 * i + 1];
  }
  ctx.Out("X@GRAD", std::move(type));
  return absl::OkStatus();
}

}  // namespace

OpDef PadDef() {
  return OpDef("pad")
      .Doc("X with 'paddings' elements 'pad_value' around it: two numbers per dimension, before and after.")
      .In("X")
      .Out("Out")
      .Required("paddings", Ints{})
      .A("pad_value", 0.0f)
      .Use(AttrUse::kFills)
      .Infer(InferPad)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"", "Out", "X", "", &InferPadGradient})
      .BoundsAre(&PaddedBounds);
}

}  // namespace ampc::ops
