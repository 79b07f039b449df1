#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferCumprod(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.has_rank && x.rank() > 0) AMPC_RETURN_IF_ERROR(Axes(ctx, {ctx.op().GetInt("dim")}, x.rank(), 1).status());
  return InferSame(ctx);
}

}  // namespace

OpDef CumprodDef() {
  return OpDef("cumprod")
      .Doc("Running products along the axis 'dim'.")
      .In("X")
      .Out("Out")
      .Required("dim", int32_t{0})
      .Infer(InferCumprod)
      .CostIs(PerResult<1>)
      .Amp(kDeny, "a running product leaves f16 above 65504: 16 factors of 2 are enough, and 25 factors of 1/2 give 0")
      .GradientOp({"X Out", "Out", "X"});
}

}  // namespace ampc::ops
