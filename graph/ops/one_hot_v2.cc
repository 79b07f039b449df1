#include <optional>
#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferOneHot(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, "X", 1));
  const DType dtype = ctx.op().GetDType("dtype");
  if (dtype == DType::kInvalid) return Fail(ctx, 2, "dtype names no type");
  AMPC_ASSIGN_OR_RETURN(const std::optional<int64_t> depth, ReadIntArg(ctx, "depth_tensor", "depth", 4));
  if (depth.has_value() && *depth < 1) return Fail(ctx, 3, "depth is ", *depth, ", needs at least 1");
  TensorType out = ctx.In("X").WithDType(dtype);
  if (out.has_rank) out.dims.push_back(depth.value_or(kUnknownDim));
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

OpDef OneHotV2Def() {
  return OpDef("one_hot_v2")
      .Doc("A row of 'depth' (or depth_tensor) zeros for each index, with 1 at the index; zeros alone where one out of range is allowed.")
      .In("X", kAsIs)
      .HostIn("depth_tensor")
      .Out("Out", kAsIs)
      .A("depth", -1)
      .DTypeAttr("dtype", DType::kF32, false)
      .A("allow_out_of_range", false)
      .Infer(InferOneHot)
      .CostIs(MoveCost)
      .Amp(kNever, "makes the type the program asks for, out of indices")
      .Gradient("none: indices have no derivative");
}

}  // namespace ampc::ops
