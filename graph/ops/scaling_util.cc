#include "graph/ops/scaling_util.h"

#include <algorithm>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

absl::Status OutLikeX(InferContext& ctx) {
  if (ctx.NumOut("Out") != ctx.Count("X")) {
    return Fail(ctx, 1, "Out has ", ctx.NumOut("Out"), " results, needs ", ctx.Count("X"), ", one per operand of X");
  }
  for (int i = 0; i < ctx.Count("X"); ++i) ctx.Out("Out", i, ctx.In("X", i));
  return absl::OkStatus();
}

absl::Status NeedScalar(const InferContext& ctx, absl::string_view slot, std::initializer_list<DType> dtypes, int c) {
  const TensorType& type = ctx.In(slot);
  if (type.has_rank && Differ(Product(type.dims), 1)) return Fail(ctx, c, slot, " has ", Product(type.dims), " elements, needs 1");
  if (dtypes.size() == 0 || type.dtype == DType::kInvalid || std::find(dtypes.begin(), dtypes.end(), type.dtype) != dtypes.end()) {
    return absl::OkStatus();
  }
  std::string names;
  for (DType t : dtypes) absl::StrAppend(&names, names.empty() ? "" : " or ", Name(t));
  return Fail(ctx, c, slot, " is ", Name(type.dtype), ", needs ", names);
}

Cost UnscaleCost(const Op& op) {
  double elements = 0;
  for (const Var* var : op.inputs(op.def().InputSlot("X"))) elements += Elements(var->type);
  return {elements, TotalBytes(op)};
}

}  // namespace ampc::ops
