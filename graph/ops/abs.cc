#include "graph/ops/bounds.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Of complex numbers a real one.
absl::Status InferAbs(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  ctx.Out("Out", x.WithDType(x.dtype == DType::kC64 ? DType::kF32 : x.dtype == DType::kC128 ? DType::kF64 : x.dtype));
  return absl::OkStatus();
}

}  // namespace

OpDef AbsDef() {
  return Unary("abs", "Absolute value.")
      .Alias("onnx", "Abs")
      .Infer(InferAbs)
      .CostIs(PerResult<1>)
      .Amp(kClear, "drops the sign: exact in every type")
      .BoundsAre(&AbsBounds);
}

}  // namespace ampc::ops
