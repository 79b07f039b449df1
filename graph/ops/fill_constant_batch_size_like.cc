#include <utility>
#include <vector>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferFill(InferContext& ctx) {
  const DType dtype = ctx.op().GetDType("dtype");
  if (dtype == DType::kInvalid) return Fail(ctx, 1, "dtype names no type");
  const TensorType& in = ctx.In("Input");
  const std::vector<int64_t> shape = ctx.op().GetInts("shape");
  const int64_t from = ctx.op().GetInt("input_dim_idx"), to = ctx.op().GetInt("output_dim_idx");
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (to < 0 || to >= rank) return Fail(ctx, 2, "output_dim_idx is ", to, ", needs 0 to ", rank - 1);
  if (from < 0 || (in.has_rank && from >= in.rank())) return Fail(ctx, 3, "input_dim_idx is ", from, ", needs a dimension of Input");
  TensorType out = RankZero(dtype);
  for (int64_t d : shape) {
    if (d < -1) return Fail(ctx, 4, "shape has ", d, ", needs sizes");
    out.dims.push_back(d < 0 ? kUnknownDim : d);
  }
  out.dims[to] = in.has_rank ? in.dims[from] : kUnknownDim;
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

OpDef FillConstantBatchSizeLikeDef() {
  return OpDef("fill_constant_batch_size_like")
      .Doc("A tensor of one value and of the shape 'shape', whose dimension output_dim_idx is dimension input_dim_idx of Input.")
      .In("Input", kAsIs)
      .Out("Out", kAsIs)
      .Required("shape", Ints{})
      .A("input_dim_idx", 0)
      .A("output_dim_idx", 0)
      .DTypeAttr("dtype", DType::kF32, false)
      .A("value", 0.0f)
      .A("str_value", "")
      .A("force_cpu", false)
      .Infer(InferFill)
      .CostIs(MoveCost)
      .Amp(kNever, "makes the type the program asks for; values above 65504 or below 2^-24 have no f16")
      .Gradient("none: Input gives its shape only");
}

}  // namespace ampc::ops
