#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferCumsum(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (ctx.op().GetBool("flatten")) {
    ctx.Out("Out", TensorType(x.dtype, {x.has_rank ? Product(x.dims) : kUnknownDim}));
    return absl::OkStatus();
  }
  if (x.has_rank && x.rank() > 0) AMPC_RETURN_IF_ERROR(Axes(ctx, {ctx.op().GetInt("axis")}, x.rank(), 1).status());
  return InferSame(ctx);
}

}  // namespace

OpDef CumsumDef() {
  return OpDef("cumsum")
      .Doc("Running sums along 'axis' or of the flattened X; from the end where 'reverse', without the element itself where 'exclusive'.")
      .In("X")
      .Out("Out")
      .A("axis", -1)
      .A("flatten", false)
      .A("exclusive", false)
      .A("reverse", false)
      .Infer(InferCumsum)
      .CostIs(PerResult<1>)
      .Amp(kDeny, "a running count stops at 2048 in f16 and a running sum leaves it at 65504")
      .GradientOp({"X", "Out", "X"})
      .Alias("onnx", "CumSum")
      .Traits({OpTrait::kRunning});
}

}  // namespace ampc::ops
