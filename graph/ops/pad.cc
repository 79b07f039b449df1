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

}  // namespace

OpDef PadDef() {
  return OpDef("pad")
      .Doc("X with 'paddings' elements 'pad_value' around it: two numbers per dimension, before and after.")
      .In("X")
      .Out("Out")
      .Required("paddings", Ints{})
      .A("pad_value", 0.0f)
      .Infer(InferPad)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("pad_grad");
}

}  // namespace ampc::ops
