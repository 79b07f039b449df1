#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/quantize_util.h"

namespace ampc::ops {
namespace {

absl::Status InferAffineQuantize(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckScales(ctx));
  const DType to = ctx.op().GetDType("out_dtype");
  if (!IsQuantized(to)) return Fail(ctx, 3, "out_dtype is ", Name(to), ", needs u8, i8, u16 or i16");
  ctx.Out("Out", ctx.In("X").WithDType(to));
  return absl::OkStatus();
}

}  // namespace

OpDef AffineQuantizeDef() {
  return OpDef("affine_quantize")
      .Doc(
          "X / Scale rounded to the nearest even integer, plus ZeroPoint, in the range of out_dtype; NaN is 0. Scale and ZeroPoint are one "
          "number each, or one for each index along 'axis'.")
      .In("X", kAsIs)
      .In("Scale", kAsIs)
      .OptIn("ZeroPoint", kAsIs)
      .Out("Out", kAsIs)
      .A("axis", -1)
      .DTypeAttr("out_dtype", DType::kU8, false)
      .Infer(InferAffineQuantize)
      .CostIs(PerResult<4>)
      .Amp(kNever, "quantised: its scale stays as it is")
      .Gradient("none: rounding has none");
}

}  // namespace ampc::ops
