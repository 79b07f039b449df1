#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferExpand(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const ShapeArg shape = ReadShapeArg(ctx, "expand_shapes_tensor", "Shape", "shape");
  if (!shape.has_value() || !x.has_rank) {
    ctx.Out("Out", shape.has_value() ? TensorType(x.dtype, Dims(shape->size(), kUnknownDim)) : TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  const int rank = static_cast<int>(shape->size());
  if (rank < x.rank()) return Fail(ctx, 1, "shape has ", rank, " numbers, needs at least ", x.rank(), ", the rank of X");
  const int lead = rank - x.rank();
  Dims out(rank, kUnknownDim);
  for (int i = 0; i < rank; ++i) {
    const int64_t have = i < lead ? 1 : x.dims[i - lead];
    const std::optional<int64_t> want = (*shape)[i];
    if (!want.has_value()) continue;
    if (*want == -1 && i < lead) return Fail(ctx, 2, "shape has -1 at dim ", i, ", where X has no dimension to keep");
    if (*want < -1) return Fail(ctx, 2, "shape has ", *want, " at dim ", i, ", needs a size or -1");
    if (*want != -1 && Differ(have, *want) && have != 1)
      return Fail(ctx, 3, "X has ", have, " at dim ", i - lead, ", needs ", *want, " or 1");
    out[i] = *want == -1 ? have : *want;
  }
  ctx.Out("Out", TensorType(x.dtype, out));
  return absl::OkStatus();
}

}  // namespace

OpDef ExpandV2Def() {
  return OpDef("expand_v2")
      .Doc("X broadcast to 'shape'; -1 keeps the dimension. expand_shapes_tensor or Shape replaces the attribute.")
      .In("X")
      .HostIn("Shape")
      .HostVarIn("expand_shapes_tensor")
      .Out("Out")
      .A("shape", Ints{})
      .Infer(InferExpand)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X Shape expand_shapes_tensor", "Out", "X"})
      .Alias("onnx", "Expand")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
