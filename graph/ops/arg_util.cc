#include "graph/ops/arg_util.h"

#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferArg(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  DType dtype = ctx.op().GetDType("dtype");
  if (dtype == DType::kInvalid) dtype = DType::kI64;
  if (dtype != DType::kI32 && dtype != DType::kI64) return Fail(ctx, 1, "dtype is ", Name(dtype), ", needs i32 or i64");
  const bool keep = ctx.op().GetBool("keepdims");
  if (!x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(dtype));
    return absl::OkStatus();
  }
  TensorType out(dtype, x.dims);
  if (ctx.op().GetBool("flatten")) {
    out.dims.assign(keep ? x.rank() : 0, 1);
  } else {
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {ctx.op().GetInt("axis")}, x.rank(), 2));
    out.dims[axes[0]] = 1;
    if (!keep) out.dims.erase(out.dims.begin() + axes[0]);
  }
  if (out.dims.empty()) out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef ArgExtreme(std::string name, std::string doc) {
  return OpDef(std::move(name))
      .Doc(std::move(doc))
      .In("X")
      .Out("Out", kAsIs)
      .Required("axis", int64_t{0})
      .A("keepdims", false)
      .A("flatten", false)
      .DTypeAttr("dtype", DType::kInvalid, false)
      .Infer(InferArg)
      .CostIs(PerOperand<1>)
      .Amp(kClear, "compares its operand exactly in every type; the index is an integer")
      .Gradient("none: an integer result");
}

}  // namespace ampc::ops
