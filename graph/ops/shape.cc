#include <cstdint>
#include <limits>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferShape(InferContext& ctx) {
  const TensorType& x = ctx.In("Input");
  for (const int64_t dim : x.dims) {
    if (dim > std::numeric_limits<int32_t>::max()) return Fail(ctx, 1, "Input has a dim of ", dim, ", needs dims that i32 counts");
  }
  ctx.Out("Out", TensorType(DType::kI32, {x.has_rank ? x.rank() : kUnknownDim}));
  return absl::OkStatus();
}

}  // namespace

OpDef ShapeDef() {
  return OpDef("shape")
      .Doc("The dimensions of Input as i32.")
      .In("Input", kAsIs)
      .Out("Out", kAsIs)
      .Infer(InferShape)
      .CostIs(FreeCost)
      .Amp(kNever, "reads no value, only the shape, so its operand needs no cast")
      .Gradient("none: an integer result")
      .Alias("onnx", "Shape");
}

}  // namespace ampc::ops
