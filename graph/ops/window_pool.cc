#include <algorithm>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferWindowPool(InferContext& ctx) {
  const Op& op = ctx.op();
  const std::string mode = op.GetString("mode");
  if (mode != "max" && mode != "avg" && mode != "lp") return Fail(ctx, 1, "mode is '", mode, "', needs max, avg or lp");
  const std::vector<int64_t> ksize = op.GetInts("ksize");
  const int spatial = static_cast<int>(ksize.size());
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", spatial + 2, spatial + 2, 2));
  if (ctx.NumOut("Indices") > 0 && mode != "max") return Fail(ctx, 3, "Indices is wanted, needs mode max");
  TensorType out = ctx.In("X");
  if (!out.has_rank) out = TensorType(out.dtype, Dims(spatial + 2, kUnknownDim));
  const absl::StatusOr<Windows> windows = ReadWindows(op, Slice(out.dims, 2, spatial + 2), ksize);
  if (!windows.ok()) return Fail(ctx, 4, windows.status().message());
  for (int i = 0; i < spatial; ++i) {
    const Window& w = (*windows)[i];
    const int64_t in = out.dims[2 + i];
    int64_t& size = out.dims[2 + i];
    size = WindowOutput(w, in, op.GetBool("ceil_mode"));
    if (!IsKnown(size)) continue;
    if (SatMul(size - 1, w.stride) >= in + w.before) --size;  // a window that starts in the padding at the end is none
    if (size <= 0)
      return Fail(ctx, 5, "the window of ", w.kernel, " does not fit ", in, " positions with padding ", w.before, " + ", w.after);
  }
  ctx.Out("Indices", out.WithDType(DType::kI64));
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

Cost WindowPoolCost(const Op& op) {
  double window = 1;
  for (int64_t k : op.GetInts("ksize")) window *= static_cast<double>(std::max<int64_t>(k, 1));
  return {window * ResultElements(op), TotalBytes(op)};
}

}  // namespace

OpDef WindowPoolDef() {
  return OpDef("window_pool")
      .Doc(
          "Largest value, mean or p-norm of each window of X [n, c, d..] over any number of spatial dims, with dilations. Indices: where "
          "the "
          "largest value is in X as a vector, counted by columns where 'column_major'. 'exclusive': a mean does not count padding.")
      .In("X")
      .Out("Out")
      .OptOut("Indices", kAsIs)
      .Required("mode", "")
      .Required("ksize", Ints{})
      .A("strides", Ints{})
      .A("paddings", Ints{})
      .A("dilations", Ints{})
      .A("ceil_mode", false)
      .A("exclusive", true)
      .A("column_major", false)
      .A("p", 2)
      .Infer(InferWindowPool)
      .CostIs(WindowPoolCost)
      .Amp(kInfer, "max selects; a mean is accumulated in fp32 and lies between its operands; a norm is rounded once")
      .AmpWhen([](const Op& op) { return op.GetString("mode") == "lp" ? kDeny : kInfer; })
      .Gradient("none: pool2d and pool3d are the pools that are trained");
}

}  // namespace ampc::ops
