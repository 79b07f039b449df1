#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferUnique(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  TensorType out(x.dtype, {kUnknownDim});
  TensorType inverse(DType::kI64, {x.has_rank ? Product(x.dims) : kUnknownDim});
  if (!ctx.op().GetBool("flatten")) {
    if (!x.has_rank) {
      out = TensorType::Unranked(x.dtype);
    } else {
      AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("axis")}, x.rank(), 1));
      out.dims = x.dims;
      out.dims[axes[0]] = kUnknownDim;
      inverse.dims[0] = x.dims[axes[0]];
    }
  }
  ctx.Out("Out", out);
  ctx.Out("Indices", TensorType(DType::kI64, {kUnknownDim}));
  ctx.Out("Index", inverse);
  ctx.Out("Counts", TensorType(DType::kI64, {kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef UniqueDef() {
  return OpDef("unique")
      .Doc(
          "The distinct elements of X, or the distinct slices along 'axis' unless 'flatten': sorted, or in the order of their first. "
          "Indices: "
          "where each is first; Index: which of them each element is; Counts: how often each is there.")
      .In("X", kAsIs)
      .Out("Out", kAsIs)
      .OptOut("Indices", kAsIs)
      .OptOut("Index", kAsIs)
      .OptOut("Counts", kAsIs)
      .A("is_sorted", true)
      .A("flatten", true)
      .A("axis", 0)
      .Infer(InferUnique)
      .CostIs(PerOperand<8>)
      .Amp(kNever, "values that differ in fp32 are equal in f16, which changes how many results there are")
      .Gradient("none: the number of results depends on the values");
}

}  // namespace ampc::ops
