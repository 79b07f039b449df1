#include <string>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// Elements of Alpha: one; one per channel; or one per element of a sample.
absl::Status CheckAlpha(const InferContext& ctx, const std::string& mode, const std::string& layout) {
  const TensorType& x = ctx.In("X");
  const TensorType& alpha = ctx.In("Alpha");
  if (!alpha.has_rank) return absl::OkStatus();
  const int64_t n = Product(alpha.dims);
  if (mode == "all") {
    if (Differ(n, 1)) return Fail(ctx, 3, "Alpha has ", n, " elements, needs 1 in mode all");
    return absl::OkStatus();
  }
  if (!x.has_rank) return absl::OkStatus();
  if (mode == "channel") {
    if (x.rank() < 2) return Fail(ctx, 4, "X has rank ", x.rank(), ", needs at least 2 in mode channel");
    const int64_t channels = layout == "NHWC" ? x.dims.back() : x.dims[1];
    if (Differ(n, channels)) return Fail(ctx, 3, "Alpha has ", n, " elements, needs one for each of ", channels, " channels");
    return absl::OkStatus();
  }
  if (x.rank() < 1) return Fail(ctx, 4, "X has rank 0, needs at least 1 in mode element");
  const int64_t sample = Product(Slice(x.dims, 1, x.rank()));
  if (Differ(n, sample)) return Fail(ctx, 3, "Alpha has ", n, " elements, needs one for each of the ", sample, " of a sample");
  return absl::OkStatus();
}

absl::Status InferPrelu(InferContext& ctx) {
  const std::string mode = ctx.op().GetString("mode");
  const std::string layout = ctx.op().GetString("data_format");
  if (mode != "all" && mode != "channel" && mode != "element") {
    return Fail(ctx, 1, "mode is '", mode, "', needs all, channel or element");
  }
  if (layout != "NCHW" && layout != "NHWC") return Fail(ctx, 2, "data_format is '", layout, "', needs NCHW or NHWC");
  AMPC_RETURN_IF_ERROR(CheckAlpha(ctx, mode, layout));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Alpha", 5));
  return InferSame(ctx);
}

}  // namespace

OpDef PreluDef() {
  return OpDef("prelu")
      .Doc("Out = X, or Alpha * X where X < 0; one Alpha for all, per channel, or per element of a sample.")
      .In("X")
      .In("Alpha")
      .Out("Out")
      .A("mode", "all")
      .A("data_format", "NCHW")
      .Infer(InferPrelu)
      .CostIs(PerResult<2>)
      .Amp(kInfer, "computed in fp32 inside with one rounding; |result| <= |x| for slopes of at most 1")
      .GradientOp({"X Alpha", "Out", "X Alpha"})
      .Alias("onnx", "PRelu");
}

}  // namespace ampc::ops
