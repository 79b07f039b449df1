#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferSize(InferContext& ctx) {
  TensorType out = RankZero(DType::kI64);
  out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", out);
  return absl::OkStatus();
}

}  // namespace

OpDef SizeDef() {
  return OpDef("size")
      .Doc("The number of elements of Input as i64.")
      .In("Input", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferSize)
      .CostIs(FreeCost)
      .Amp(kNever, "reads no value, only the shape, so its operand needs no cast")
      .Gradient("none: an integer result")
      .Alias("onnx", "Size")
      .Traits({OpTrait::kShapeReader});
}

}  // namespace ampc::ops
