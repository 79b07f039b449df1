#include <algorithm>
#include <string>
#include <utility>

#include "graph/base/size.h"
#include "graph/ops/conv_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

// The smallest size whose convolution gives `in`, plus output_padding; output_size may name a larger one below the next stride.
absl::StatusOr<int64_t> OutputDim(const InferContext& ctx, size_t spatial, size_t i, const Window& w, int64_t in) {
  const std::vector<int64_t> want = ctx.op().GetInts("output_size");
  const std::vector<int64_t> extra = ctx.op().GetInts("output_padding");
  for (const auto* list : {&want, &extra}) {
    if (!list->empty() && list->size() != spatial)
      return Fail(ctx, 8, list == &want ? "output_size" : "output_padding", " has ", list->size(), " numbers, needs ", spatial);
  }
  if (!IsKnown(in) || !IsKnown(w.kernel)) return want.empty() ? kUnknownDim : want[i];
  const int64_t least = SatSub(SatAdd(SatMul(in - 1, w.stride), Reach(w)), w.before + w.after);
  if (!want.empty()) {
    if (want[i] < least || want[i] >= SatAdd(least, w.stride)) {
      return Fail(ctx, 9, "output_size has ", want[i], ", needs ", least, " to ", SatAdd(least, w.stride - 1));
    }
    return want[i];
  }
  const int64_t more = extra.empty() ? 0 : extra[i];
  if (more < 0 || more >= std::max(w.stride, w.dilation)) {
    return Fail(ctx, 8, "output_padding has ", more, ", needs 0 to ", std::max(w.stride, w.dilation) - 1,
                ", less than the stride or the dilation");
  }
  const int64_t out = SatAdd(least, more);
  if (out <= 0) return Fail(ctx, 9, "the output has ", out, " positions, needs at least 1");
  return out;
}

// Filter is [in channels, out channels / groups, window].
template <int kSpatial>
absl::Status InferConvTranspose(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckConvOperands(ctx, kSpatial));
  const TensorType& x = ctx.In("Input");
  const TensorType& w = ctx.In("Filter");
  if (!w.has_rank) {
    ctx.Out("Output", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  const ConvInput in = ReadConvInput(ctx, kSpatial);
  if (Differ(in.channels, w.dims[0])) return Fail(ctx, 5, "Input has ", in.channels, " channels, needs ", w.dims[0], " like the Filter");
  if (IsKnown(w.dims[0]) && w.dims[0] % in.groups != 0) {
    return Fail(ctx, 6, "Filter has ", w.dims[0], " input channels, needs a multiple of ", in.groups, " groups");
  }
  AMPC_ASSIGN_OR_RETURN(const Windows windows, ReadConvWindows(ctx, in));
  Dims out(kSpatial + 2, kUnknownDim);
  out[0] = in.dims[0];
  out[in.channel] = IsKnown(w.dims[1]) ? SatMul(w.dims[1], in.groups) : kUnknownDim;
  for (int i = 0; i < kSpatial; ++i) {
    AMPC_ASSIGN_OR_RETURN(out[in.first + i], OutputDim(ctx, kSpatial, i, windows[i], in.dims[in.first + i]));
  }
  AMPC_RETURN_IF_ERROR(CheckConvBias(ctx, out[in.channel], 10));
  ctx.Out("Output", TensorType(x.dtype, std::move(out)));
  return absl::OkStatus();
}

// Every operand element meets out channels / groups * window multiply-adds.
Cost ConvTransposeCost(const Op& op) {
  const TensorType& w = op.input("Filter")->type;
  const double channels = w.rank() > 0 && IsKnown(w.dims[0]) && w.dims[0] > 0 ? static_cast<double>(w.dims[0]) : 1.0;
  return {2.0 * OperandElements(op) * Elements(w) / channels, TotalBytes(op)};
}

}  // namespace

OpDef ConvolutionTransposed(std::string name, int spatial, std::string doc) {
  OpDef def(name);
  def.Doc(std::move(doc))
      .In("Input")
      .In("Filter")
      .OptIn("Bias")
      .Out("Output")
      .A("output_padding", Ints{})
      .A("output_size", Ints{})
      .A("groups", 1)
      .A("dilations", Ints(spatial, 1))
      .A("strides", Ints(spatial, 1))
      .A("paddings", Ints(spatial, 0))
      .A("padding_algorithm", "EXPLICIT")
      .A("data_format", "NCHW")
      .Infer(spatial == 3 ? InferConvTranspose<3> : InferConvTranspose<2>)
      .CostIs(ConvTransposeCost)
      .GradientOp({"Input Filter", "Output", "Input Filter"})
      .Weights(WeightUse::kConvTransposed);
  return ConvExtras(def);
}

}  // namespace ampc::ops
