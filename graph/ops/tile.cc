#include <algorithm>

#include "graph/base/size.h"
#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The shorter of X's dims and the repeat counts is filled up with ones in front.
absl::Status InferTile(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const ShapeArg repeat = ReadShapeArg(ctx, "repeat_times_tensor", "RepeatTimes", "repeat_times");
  if (!repeat.has_value() || !x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  const int counts = static_cast<int>(repeat->size());
  const int rank = std::max(x.rank(), counts);
  Dims out(rank, kUnknownDim);
  for (int i = 0; i < rank; ++i) {
    const int from_x = i - (rank - x.rank());
    const int from_repeat = i - (rank - counts);
    const int64_t have = from_x < 0 ? 1 : x.dims[from_x];
    const std::optional<int64_t> times = from_repeat < 0 ? 1 : (*repeat)[from_repeat];
    if (!times.has_value()) continue;
    if (*times < 0) return Fail(ctx, 1, "repeat_times has ", *times, ", needs 0 or positive numbers");
    out[i] = *times == 1 ? have : *times == 0 ? 0 : IsKnown(have) ? SatMul(have, *times) : kUnknownDim;
  }
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

}  // namespace

OpDef TileDef() {
  return OpDef("tile")
      .Doc("X repeated repeat_times along each dimension; repeat_times_tensor or RepeatTimes replaces the attribute.")
      .In("X")
      .HostIn("RepeatTimes")
      .HostVarIn("repeat_times_tensor")
      .Out("Out")
      .A("repeat_times", Ints{})
      .Infer(InferTile)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X RepeatTimes repeat_times_tensor", "Out", "X"})
      .Alias("onnx", "Tile")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
