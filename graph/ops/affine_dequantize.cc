#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/quantize_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAffineDequantize(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckScales(ctx));
  const DType from = ctx.In("X").dtype;
  if (from != DType::kInvalid && from != DType::kI32 && !IsQuantized(from))
    return Fail(ctx, 3, "X is ", Name(from), ", needs u8, i8, u16, i16 or i32");
  ctx.Out("Out", ctx.In("X").WithDType(DType::kF32));
  return absl::OkStatus();
}

}  // namespace

OpDef AffineDequantizeDef() {
  return OpDef("affine_dequantize")
      .Doc("(X - ZeroPoint) * Scale in fp32. Scale and ZeroPoint are one number each, or one for each index along 'axis'.")
      .In("X", kAsIs)
      .In("Scale", kAsIs)
      .OptIn("ZeroPoint", kAsIs)
      .Out("Out", kAsIs)
      .A("axis", -1)
      .Infer(InferAffineDequantize)
      .CostIs(PerResult<2>)
      .Amp(kNever, "quantised: its scale stays as it is")
      .Gradient("none: of an integer");
}

}  // namespace ampc::ops
