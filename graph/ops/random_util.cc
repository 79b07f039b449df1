#include "graph/ops/random_util.h"

#include <optional>
#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {

absl::Status InferRandomFill(InferContext& ctx) {
  const DType dtype = ctx.op().GetDType("dtype");
  if (!IsFloat(dtype)) return Fail(ctx, 1, "dtype is ", Name(dtype), ", needs a floating-point type");
  const ShapeArg shape = ReadShapeArg(ctx, "ShapeTensorList", "ShapeTensor", "shape");
  if (!shape.has_value()) {
    ctx.Out("Out", TensorType::Unranked(dtype));
    return absl::OkStatus();
  }
  TensorType out = RankZero(dtype);
  for (const std::optional<int64_t>& d : *shape) {
    if (d.has_value() && *d < 0) return Fail(ctx, 2, "shape has ", *d, ", needs sizes");
    out.dims.push_back(d.value_or(kUnknownDim));
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

OpDef RandomFill(std::string name, std::string doc) {
  OpDef def(std::move(name));
  def.Doc(std::move(doc))
      .HostIn("ShapeTensor")
      .HostVarIn("ShapeTensorList")
      .Out("Out", kAsIs)
      .DTypeAttr("dtype", DType::kF32, false)
      .A("shape", Longs{})
      .A("seed", 0)
      .Infer(InferRandomFill)
      .CostIs(MoveCost)
      .Amp(kNever, "makes the type the program asks for; initial values keep their fp32 bits for the master weight")
      .Gradient("none: no differentiable operand")
      .Impure();
  return MayOverwrite(std::move(def));
}

}  // namespace ampc::ops
