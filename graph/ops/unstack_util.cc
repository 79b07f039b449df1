#include "graph/ops/unstack_util.h"

#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The results are the slices of X along 'axis'.
absl::Status InferUnstack(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const std::string& slot = ctx.op().def().outputs[0].name;
  const int n = ctx.NumOut(slot);
  TensorType out = TensorType::Unranked(x.dtype);
  if (x.has_rank) {
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("axis")}, x.rank(), 1));
    if (Differ(x.dims[axes[0]], n))
      return Fail(ctx, 2, "the axis has ", x.dims[axes[0]], " elements, needs ", n, ", the number of results");
    out = TensorType(x.dtype, x.dims);
    out.dims.erase(out.dims.begin() + axes[0]);
  }
  for (int i = 0; i < n; ++i) ctx.Out(slot, i, out);
  return absl::OkStatus();
}

}  // namespace

OpDef Unstack(std::string name, std::string out) {
  return OpDef(std::move(name))
      .Doc("The slices of X along 'axis', each without that dimension.")
      .In("X")
      .VarOut(std::move(out))
      .A("axis", 0)
      .Infer(InferUnstack)
      .CostIs(MoveCost)
      .Amp(kClear, "moves values without arithmetic")
      .Gradient("stack axis");
}

}  // namespace ampc::ops
