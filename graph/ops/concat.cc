#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferConcat(InferContext& ctx) {
  const TensorType* first = nullptr;  // the first operand of known rank
  const int n = ctx.Count("X");
  const DType dtype = ctx.In("X", 0).dtype;
  for (int i = 0; i < n; ++i) {
    const TensorType& x = ctx.In("X", i);
    if (x.dtype != dtype && x.dtype != DType::kInvalid && dtype != DType::kInvalid) {
      return Fail(ctx, 1, "operand ", i, " is ", Name(x.dtype), ", needs ", Name(dtype), " like operand 0");
    }
    if (x.has_rank && first == nullptr) first = &x;
    if (x.has_rank && x.rank() != first->rank()) return Fail(ctx, 2, "operand ", i, " has rank ", x.rank(), ", needs ", first->rank());
  }
  AMPC_ASSIGN_OR_RETURN(const std::optional<int64_t> axis, ReadIntArg(ctx, "AxisTensor", "axis", 5));
  if (first == nullptr) {
    ctx.Out("Out", TensorType::Unranked(dtype));
    return absl::OkStatus();
  }
  TensorType out(dtype, first->dims);
  if (!axis.has_value()) {
    out.dims.assign(first->rank(), kUnknownDim);
    ctx.Out("Out", out);
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, {*axis}, first->rank(), 3));
  const int at = axes[0];
  int64_t total = 0;
  for (int i = 0; i < n; ++i) {
    const TensorType& x = ctx.In("X", i);
    if (!x.has_rank || !IsKnown(x.dims[at])) total = kUnknownDim;
    if (IsKnown(total)) total += x.dims[at];
    for (int d = 0; x.has_rank && d < x.rank(); ++d) {
      if (d == at) continue;
      if (Differ(x.dims[d], out.dims[d])) return Fail(ctx, 4, "operand ", i, " has ", x.dims[d], " at dim ", d, ", needs ", out.dims[d]);
      out.dims[d] = Merge(out.dims[d], x.dims[d]);
    }
  }
  out.dims[at] = n == 1 ? first->dims[at] : total;
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef ConcatDef() {
  return OpDef("concat")
      .Doc("The operands one after the other along 'axis'; AxisTensor replaces the attribute.")
      .VarIn("X")
      .HostIn("AxisTensor")
      .Out("Out")
      .A("axis", 0)
      .Infer(InferConcat)
      .CostIs(MoveCost)
      .Amp(kWidest, "moves values without arithmetic, but its operands must have one type: narrowing a wide one would round it")
      .GradientOp({"X AxisTensor", "Out", "X"})
      .Alias("onnx", "Concat")
      .BoundsAre(&MovedBounds);
}

}  // namespace ampc::ops
