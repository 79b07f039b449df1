#include <utility>

#include "graph/ops/conv_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

// The smallest size whose convolution gives `in`, plus output_padding; output_size may name a larger one below the next stride.
absl::StatusOr<int64_t> OutputDim(const InferContext& ctx, int i, const Window& w, int64_t in) {
  const std::vector<int64_t> want = ctx.op().GetInts("output_size");
  const std::vector<int64_t> extra = ctx.op().GetInts("output_padding");
  for (const auto* list : {&want, &extra}) {
    if (!list->empty() && list->size() != 2)
      return Fail(ctx, 8, list == &want ? "output_size" : "output_padding", " has ", list->size(), " numbers, needs 2");
  }
  if (!IsKnown(in) || !IsKnown(w.kernel)) return want.empty() ? kUnknownDim : want[i];
  const int64_t least = (in - 1) * w.stride - w.before - w.after + w.dilation * (w.kernel - 1) + 1;
  if (!want.empty()) {
    if (want[i] < least || want[i] >= least + w.stride) {
      return Fail(ctx, 9, "output_size has ", want[i], ", needs ", least, " to ", least + w.stride - 1);
    }
    return want[i];
  }
  const int64_t out = least + (extra.empty() ? 0 : extra[i]);
  if (out <= 0) return Fail(ctx, 9, "the output has ", out, " positions, needs at least 1");
  return out;
}

// Filter is [in channels, out channels / groups, kh, kw].
absl::Status InferConvTranspose(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckConvOperands(ctx));
  const TensorType& x = ctx.In("Input");
  const TensorType& w = ctx.In("Filter");
  if (!w.has_rank) {
    ctx.Out("Output", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  const bool last = ChannelsLast(ctx.op().GetString("data_format"));
  const int64_t groups = ctx.op().GetInt("groups");
  const Dims in = x.has_rank ? x.dims : Dims(4, kUnknownDim);
  const int64_t channels = in[last ? 3 : 1];
  if (Differ(channels, w.dims[0])) return Fail(ctx, 5, "Input has ", channels, " channels, needs ", w.dims[0], " like the Filter");
  if (IsKnown(w.dims[0]) && w.dims[0] % groups != 0) {
    return Fail(ctx, 6, "Filter has ", w.dims[0], " input channels, needs a multiple of ", groups, " groups");
  }
  const int first = last ? 1 : 2;
  const absl::StatusOr<Windows> windows = ReadWindows(ctx.op(), Slice(in, first, first + 2), Slice(w.dims, 2, 4));
  if (!windows.ok()) return Fail(ctx, 7, windows.status().message());
  Dims out = {in[0], kUnknownDim, kUnknownDim, kUnknownDim};
  out[last ? 3 : 1] = IsKnown(w.dims[1]) ? w.dims[1] * groups : kUnknownDim;
  for (int i = 0; i < 2; ++i) {
    AMPC_ASSIGN_OR_RETURN(out[first + i], OutputDim(ctx, i, (*windows)[i], in[first + i]));
  }
  AMPC_RETURN_IF_ERROR(CheckConvBias(ctx, out[last ? 3 : 1], 10));
  ctx.Out("Output", TensorType(x.dtype, std::move(out)));
  return absl::OkStatus();
}

// Every operand element meets out channels / groups * kh * kw multiply-adds.
Cost ConvTransposeCost(const Op& op) {
  const TensorType& w = op.input("Filter")->type;
  const double channels = w.rank() > 0 && IsKnown(w.dims[0]) && w.dims[0] > 0 ? static_cast<double>(w.dims[0]) : 1.0;
  return {2.0 * OperandElements(op) * Elements(w) / channels, TotalBytes(op)};
}

}  // namespace

OpDef Conv2DTransposeDef() {
  OpDef def("conv2d_transpose");
  def.Doc("Transposed 2-D convolution (the gradient of conv2d by its Input) with Filter [c, m / groups, kh, kw].")
      .In("Input")
      .In("Filter")
      .OptIn("Bias")
      .Out("Output")
      .A("output_padding", Ints{})
      .A("output_size", Ints{})
      .A("groups", 1)
      .A("dilations", Ints{1, 1})
      .A("strides", Ints{1, 1})
      .A("paddings", Ints{0, 0})
      .A("padding_algorithm", "EXPLICIT")
      .A("data_format", "NCHW")
      .Infer(InferConvTranspose)
      .CostIs(ConvTransposeCost)
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .Gradient("conv2d_transpose_grad")
      .Alias("onnx", "ConvTranspose");
  return ConvExtras(def);
}

}  // namespace ampc::ops
