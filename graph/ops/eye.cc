#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferEye(InferContext& ctx) {
  const int64_t rows = ctx.op().GetInt("num_rows");
  const int64_t columns = ctx.op().GetInt("num_columns");
  if (rows < 0 || columns < -1)
    return Fail(ctx, 1, "the result is [", rows, ", ", columns, "], needs sizes, or -1 columns for as many as rows");
  ctx.Out("Out", TensorType(ctx.op().GetDType("dtype"), {rows, columns == -1 ? rows : columns}));
  return absl::OkStatus();
}

}  // namespace

OpDef EyeDef() {
  return OpDef("eye")
      .Doc("A matrix with ones on its diagonal and zeros elsewhere.")
      .Out("Out")
      .Required("num_rows", int64_t{0})
      .A("num_columns", int64_t{-1})
      .DTypeAttr("dtype", DType::kF32)
      .Infer(InferEye)
      .CostIs(PerResult<0>)
      .Amp(kClear, "0 and 1 are exact in every type")
      .Gradient("none: made of constants");
}

}  // namespace ampc::ops
