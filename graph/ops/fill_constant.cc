#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFillConstant(InferContext& ctx) {
  const DType dtype = ctx.op().GetDType("dtype");
  if (dtype == DType::kInvalid) return Fail(ctx, 1, "dtype names no type");
  const ShapeArg shape = ReadShapeArg(ctx, "ShapeTensorList", "ShapeTensor", "shape");
  if (!shape.has_value()) {
    ctx.Out("Out", TensorType::Unranked(dtype));
    return absl::OkStatus();
  }
  TensorType out = RankZero(dtype);
  for (const std::optional<int64_t>& d : *shape) {
    if (d.has_value() && *d < -1) return Fail(ctx, 2, "shape has ", *d, ", needs sizes");
    out.dims.push_back(d.value_or(kUnknownDim));
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef FillConstantDef() {
  return MayOverwrite(
      OpDef("fill_constant")
          .Doc("A tensor of one value: ValueTensor, else str_value where not empty (it holds integers and nan exactly), else "
               "value. The shape is ShapeTensorList, ShapeTensor or 'shape'.")
          .OptIn("ValueTensor", kAsIs)
          .HostIn("ShapeTensor")
          .HostVarIn("ShapeTensorList")
          .Out("Out", kAsIs)
          .DTypeAttr("dtype", DType::kF32, false)
          .A("shape", Longs{})
          .A("value", 0.0f)
          .A("str_value", "")
          .A("force_cpu", false)
          .A("place_type", -1)
          .Infer(InferFillConstant)
          .CostIs(MoveCost)
          .Amp(kNever, "makes the type the program asks for; values above 65504 or below 2^-24 have no f16")
          .Gradient("none: no differentiable operand"));
}

}  // namespace ampc::ops
