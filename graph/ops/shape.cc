#include <cstdint>
#include <limits>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferShape(InferContext& ctx) {
  const TensorType& x = ctx.In("Input");
  const DType dtype = ctx.op().GetDType("dtype");
  if (dtype != DType::kI32 && dtype != DType::kI64) return Fail(ctx, 2, "dtype is ", Name(dtype), ", needs i32 or i64");
  for (const int64_t dim : x.dims) {
    if (dtype == DType::kI32 && dim > std::numeric_limits<int32_t>::max())
      return Fail(ctx, 1, "Input has a dim of ", dim, ", needs dims that i32 counts");
  }
  ctx.Out("Out", TensorType(dtype, {x.has_rank ? x.rank() : kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef ShapeDef() {
  return OpDef("shape")
      .Doc("The dimensions of Input as i32, or as i64 where 'dtype' says so.")
      .In("Input", kAsIs)
      .Out("Out", kAsIs)
      .DTypeAttr("dtype", DType::kI32, false)
      .Infer(InferShape)
      .CostIs(FreeCost)
      .Amp(kNever, "reads no value, only the shape, so its operand needs no cast")
      .Gradient("none: an integer result")
      .Alias("onnx", "Shape")
      .Traits({OpTrait::kShapeReader});
}

}  // namespace ampc::ops
