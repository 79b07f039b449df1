#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferMeshgrid(InferContext& ctx) {
  const int n = ctx.Count("X");
  if (ctx.NumOut("Out") != n) return Fail(ctx, 1, "there are ", ctx.NumOut("Out"), " results, needs ", n, " as there are operands");
  TensorType grid = RankZero(ctx.In("X").dtype);
  for (int i = 0; i < n; ++i) {
    const TensorType& x = ctx.In("X", i);
    if (x.has_rank && x.rank() > 1) return Fail(ctx, 2, "X ", i, " has rank ", x.rank(), ", needs at most 1");
    if (x.dtype != grid.dtype) return Fail(ctx, 3, "X ", i, " is ", Name(x.dtype), ", needs ", Name(grid.dtype), " like the first");
    grid.dims.push_back(!x.has_rank ? kUnknownDim : x.rank() == 0 ? 1 : x.dims[0]);
  }
  for (int i = 0; i < n; ++i) ctx.Out("Out", i, grid);
  return absl::OkStatus();
}

}  // namespace

OpDef MeshgridDef() {
  return OpDef("meshgrid")
      .Doc("Result i repeats the vector X i along dimension i of a grid that has one dimension for each operand.")
      .VarIn("X")
      .VarOut("Out")
      .Infer(InferMeshgrid)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .GradientOp({"X", "Out", "X"});
}

}  // namespace ampc::ops
