#include <cmath>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFillAnyLike(InferContext& ctx) {
  const DType dtype = ctx.op().GetDType("dtype");
  const TensorType& x = ctx.In("X");
  if (dtype == DType::kInvalid && x.dtype == DType::kInvalid) return Fail(ctx, 1, "neither dtype nor X names a type");
  ctx.Out("Out", dtype == DType::kInvalid ? x : x.WithDType(dtype));
  return absl::OkStatus();
}

// Infinities are exact in f16; other large and tiny values are not there.
AmpClass FillClass(const Op& op) {
  const double v = std::abs(op.GetFloat("value"));
  return (v > 65504 && std::isfinite(v)) || (v > 0 && v <= 0x1p-25) ? kDeny : kClear;
}

}  // namespace

OpDef FillAnyLikeDef() {
  return OpDef("fill_any_like")
      .Doc("A tensor of one value with the shape of X, and its type unless 'dtype' names one.")
      .In("X")
      .Out("Out")
      .A("value", 0.0f)
      .DTypeAttr("dtype", DType::kInvalid)
      .Infer(InferFillAnyLike)
      .CostIs(MoveCost)
      .Amp(kClear, "reads no value of X; denied for a value above 65504 or not above 2^-25, which f16 lacks")
      .AmpWhen(FillClass)
      .Gradient("none: X gives its shape only");
}

}  // namespace ampc::ops
