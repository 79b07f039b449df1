#include "graph/ops/conv_util.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/quantize_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

absl::Status InferQuantizedConv(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckQuantizedProduct(ctx, "Input", "Filter"));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", 4, 4, 4));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Filter", 4, 4, 4));
  const TensorType& w = ctx.In("Filter");
  const DType to = TypeOfQuantizedProduct(ctx);
  if (!w.has_rank) {
    ctx.Out("Output", TensorType::Unranked(to));
    return absl::OkStatus();
  }
  const int64_t groups = ctx.op().GetInt("groups");
  if (groups <= 0 || (IsKnown(w.dims[0]) && w.dims[0] % groups != 0))
    return Fail(ctx, 5, "groups is ", groups, ", needs a divisor of ", DimText(w.dims[0]), ", the filters");
  const ConvInput in = ReadConvInput(ctx, 2);
  if (IsKnown(in.channels) && IsKnown(w.dims[1]) && in.channels / groups != w.dims[1]) {
    return Fail(ctx, 6, "Input has ", in.channels, " channels in ", groups, " groups, Filter needs ", w.dims[1], " in each");
  }
  AMPC_ASSIGN_OR_RETURN(const Windows windows, ReadConvWindows(ctx, in));
  Dims out = {in.dims[0], w.dims[0], kUnknownDim, kUnknownDim};
  for (int i = 0; i < 2; ++i) {
    out[2 + i] = WindowOutput(windows[i], in.dims[2 + i]);
    if (IsKnown(out[2 + i]) && out[2 + i] <= 0)
      return Fail(ctx, 8, "the window of ", windows[i].kernel, " does not fit ", in.dims[2 + i], " positions with their padding");
  }
  AMPC_RETURN_IF_ERROR(CheckColumns(ctx, w.dims[0]));
  ctx.Out("Output", TensorType(to, std::move(out)));
  return absl::OkStatus();
}

Cost QuantizedConvCost(const Op& op) {
  const TensorType& w = op.input("Filter")->type;
  const double filters = w.rank() > 0 && IsKnown(w.dims[0]) && w.dims[0] > 0 ? static_cast<double>(w.dims[0]) : 1.0;
  return {2.0 * ResultElements(op) * Elements(w) / filters, TotalBytes(op)};
}

}  // namespace

OpDef QuantizedConv2DDef() {
  OpDef def("quantized_conv2d");
  def.Doc(
         "conv2d of integers of 8 bits, row-major: of what they stand for in fp32, plus Bias, through the activation; where OutScale is "
         "given, quantised by it. "
         "Padding stands for 0. FilterScale, FilterZeroPoint and Bias are one number, or one for each filter.")
      .In("Input", kAsIs)
      .In("Filter", kAsIs);
  return QuantizedProductSlots(def, "Input", "Filter", "Output")
      .A("strides", Ints(2, 1))
      .A("paddings", Ints(2, 0))
      .A("padding_algorithm", "EXPLICIT")
      .A("groups", 1)
      .A("dilations", Ints(2, 1))
      .Infer(InferQuantizedConv)
      .CostIs(QuantizedConvCost);
}

}  // namespace ampc::ops
