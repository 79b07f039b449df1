#include "graph/ops/optimizer_util.h"

#include <utility>

#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

absl::Status NeedShapeOfParam(const InferContext& ctx, absl::string_view slot, int c) {
  const TensorType& param = ctx.In("Param");
  const TensorType& other = ctx.In(slot);
  if (!param.has_rank || !other.has_rank) return absl::OkStatus();
  if (Compatible(param, other.WithDType(param.dtype))) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", ToString(other), ", needs the shape of Param, ", ToString(param));
}

absl::Status NeedDType(const InferContext& ctx, absl::string_view slot, DType want, int c) {
  const DType found = ctx.In(slot).dtype;
  if (found == want || found == DType::kInvalid || want == DType::kInvalid) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", Name(found), ", needs ", Name(want));
}

}  // namespace

absl::Status CheckOptimizer(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedShapeOfParam(ctx, "Grad", 1));
  const DType param = ctx.In("Param").dtype;
  if (ctx.In("Grad").dtype != DType::kF32 || !IsLowPrecision(param)) AMPC_RETURN_IF_ERROR(NeedDType(ctx, "Grad", param, 2));
  if (ctx.op().GetBool("multi_precision") != ctx.Has("MasterParam")) {
    return Fail(ctx, 3, "multi_precision is ", ctx.Has("MasterParam") ? "false with" : "true without",
                " a MasterParam, needs both or none");
  }
  if (ctx.Has("MasterParam")) {
    AMPC_RETURN_IF_ERROR(NeedShapeOfParam(ctx, "MasterParam", 3));
    AMPC_RETURN_IF_ERROR(NeedDType(ctx, "MasterParam", DType::kF32, 3));
  }
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "LearningRate", {DType::kF32, DType::kF64}, 4));
  if (ctx.Has("SkipUpdate")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "SkipUpdate", {DType::kBool}, 5));
  if (ctx.Has("GradScale")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "GradScale", {DType::kF32, DType::kF64}, 9));
  OutAs(ctx, "ParamOut", "Param");
  OutAs(ctx, "MasterParamOut", "MasterParam");
  return absl::OkStatus();
}

absl::Status NeedMoment(const InferContext& ctx, absl::string_view slot, int c) {
  AMPC_RETURN_IF_ERROR(NeedShapeOfParam(ctx, slot, c));
  const DType param = ctx.In("Param").dtype;
  const DType found = ctx.In(slot).dtype;
  return !ctx.Has("MasterParam") && found == param ? absl::OkStatus() : NeedDType(ctx, slot, StatDType(param), c);
}

void OutAs(InferContext& ctx, absl::string_view out, absl::string_view in) {
  if (ctx.Has(in)) ctx.Out(out, ctx.In(in));
}

OpDef Optimizer(std::string name, std::string doc) {
  OpDef def(std::move(name));
  def.Doc(std::move(doc))
      .In("Param", kAsIs)
      .In("Grad", kAsIs)
      .In("LearningRate", kAsIs)
      .OptIn("MasterParam", kAsIs)
      .OptIn("SkipUpdate", kAsIs)
      .OptIn("GradScale", kAsIs)
      .Out("ParamOut", kAsIs)
      .StateOut("MasterParamOut")
      .A("multi_precision", false)
      .Amp(kNever, "updates weights in the type that they are stored in; a low weight is updated through its fp32 master")
      .Gradient("none: an update of weights is not differentiated")
      .Impure();
  def.outputs[0].overwrites = true;
  return def;
}

}  // namespace ampc::ops
