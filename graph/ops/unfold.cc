#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

constexpr int64_t kMostPositions = int64_t{1} << 28;

absl::Status InferUnfold(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 4, 4, 1));
  const Op& op = ctx.op();
  const std::vector<int64_t> kernel = op.GetInts("kernel_sizes"), strides = op.GetInts("strides"), dilations = op.GetInts("dilations");
  const std::vector<int64_t> paddings = op.GetInts("paddings");
  if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2 || paddings.size() != 4) {
    return Fail(ctx, 2, "needs two kernel_sizes, strides and dilations and four paddings");
  }
  const TensorType& x = ctx.In("X");
  int64_t positions = 1;
  for (int i = 0; i < 2; ++i) {
    for (const int64_t v : {kernel[i], strides[i], dilations[i]}) {
      if (v < 1 || v > kMostPositions)
        return Fail(ctx, 3, "a kernel size, stride or dilation is ", v, ", needs a positive number up to ", kMostPositions);
    }
    for (const int64_t v : {paddings[i], paddings[i + 2]}) {
      if (v < 0 || v > kMostPositions) return Fail(ctx, 3, "a padding is ", v, ", needs 0 to ", kMostPositions);
    }
    if (!x.has_rank || !IsKnown(x.dims[2 + i])) {
      positions = kUnknownDim;
      continue;
    }
    const int64_t room = SatAdd(x.dims[2 + i], paddings[i] + paddings[i + 2]) - (SatMul(dilations[i], kernel[i] - 1) + 1);
    if (room < 0) return Fail(ctx, 4, "the window of ", kernel[i], " does not fit ", x.dims[2 + i], " positions");
    if (IsKnown(positions)) positions = SatMul(positions, room / strides[i] + 1);
  }
  const int64_t channels = x.has_rank && IsKnown(x.dims[1]) ? SatMul(x.dims[1], SatMul(kernel[0], kernel[1])) : kUnknownDim;
  ctx.Out("Y", TensorType(x.dtype, {x.has_rank ? x.dims[0] : kUnknownDim, channels, positions}));
  return absl::OkStatus();
}

}  // namespace

OpDef UnfoldDef() {
  return OpDef("unfold")
      .Doc("The windows of X [n, c, h, w] as columns: Y [n, c kh kw, windows]. 'paddings' are those above, left, below and right.")
      .In("X")
      .Out("Y")
      .Required("kernel_sizes", Ints{})
      .A("strides", Ints{1, 1})
      .A("paddings", Ints{0, 0, 0, 0})
      .A("dilations", Ints{1, 1})
      .Infer(InferUnfold)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("none: images are not trained through their columns");
}

}  // namespace ampc::ops
