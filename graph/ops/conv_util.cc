#include "graph/ops/conv_util.h"

#include <utility>

#include "graph/base/size.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

// Filter is [out channels, in channels / groups, window] in both layouts.
template <int kSpatial>
absl::Status InferConv(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(CheckConvOperands(ctx, kSpatial));
  const TensorType& x = ctx.In("Input");
  const TensorType& w = ctx.In("Filter");
  if (!w.has_rank) {
    ctx.Out("Output", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  const ConvInput in = ReadConvInput(ctx, kSpatial);
  if (IsKnown(in.channels) && IsKnown(w.dims[1]) && in.channels != SatMul(w.dims[1], in.groups)) {
    return Fail(ctx, 5, "Input has ", in.channels, " channels, needs ", SatMul(w.dims[1], in.groups), ": ", w.dims[1],
                " of the Filter times ", in.groups, " groups");
  }
  if (IsKnown(w.dims[0]) && w.dims[0] % in.groups != 0) {
    return Fail(ctx, 6, "Filter has ", w.dims[0], " output channels, needs a multiple of ", in.groups, " groups");
  }
  AMPC_ASSIGN_OR_RETURN(const Windows windows, ReadConvWindows(ctx, in));
  Dims out(kSpatial + 2, kUnknownDim);
  out[0] = in.dims[0];
  out[in.channel] = w.dims[0];
  for (int i = 0; i < kSpatial; ++i) {
    const Window& win = windows[i];
    out[in.first + i] = WindowOutput(win, in.dims[in.first + i]);
    if (IsKnown(out[in.first + i]) && out[in.first + i] <= 0) {
      return Fail(ctx, 8, "the window of ", win.kernel, " does not fit ", in.dims[in.first + i], " positions with padding ", win.before,
                  " + ", win.after);
    }
  }
  AMPC_RETURN_IF_ERROR(CheckConvBias(ctx, w.dims[0], 9));
  ctx.Out("Output", TensorType(x.dtype, std::move(out)));
  return absl::OkStatus();
}

// Two flops per multiply-add: every result element takes in channels / groups * window of them.
Cost ConvCost(const Op& op) {
  const TensorType& w = op.input("Filter")->type;
  const double filters = w.rank() > 0 && IsKnown(w.dims[0]) && w.dims[0] > 0 ? static_cast<double>(w.dims[0]) : 1.0;
  return {2.0 * ResultElements(op) * Elements(w) / filters, TotalBytes(op)};
}

// Filter and bias are of Input's type, or fp32 beside a low Input: what a fusion folded into them keeps its precision.
absl::Status NeedSameOrFp32(const InferContext& ctx, const char* slot, int c) {
  return ctx.In(slot).dtype == DType::kF32 && IsLowPrecision(ctx.In("Input").dtype) ? absl::OkStatus()
                                                                                    : NeedSameDType(ctx, "Input", slot, c);
}

}  // namespace

absl::Status CheckConvOperands(const InferContext& ctx, int spatial) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", spatial + 2, spatial + 2, 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Filter", spatial + 2, spatial + 2, 1));
  const std::string layout = ctx.op().GetString("data_format");
  const bool volume = spatial == 3 && (layout == "NCDHW" || layout == "NDHWC");
  if (layout != "NCHW" && layout != "NHWC" && layout != "AnyLayout" && !volume) {
    return Fail(ctx, 2, "data_format is '", layout, "', needs ", spatial == 3 ? "NCDHW or NDHWC" : "NCHW or NHWC");
  }
  if (ctx.op().GetInt("groups") <= 0) return Fail(ctx, 3, "groups is ", ctx.op().GetInt("groups"), ", needs a positive number");
  return NeedSameOrFp32(ctx, "Filter", 4);
}

ConvInput ReadConvInput(const InferContext& ctx, int spatial) {
  const TensorType& x = ctx.In("Input");
  const bool last = ChannelsLast(ctx.op().GetString("data_format"));
  ConvInput in;
  in.dims = x.has_rank ? x.dims : Dims(spatial + 2, kUnknownDim);
  in.groups = ctx.op().GetInt("groups");
  in.channel = last ? spatial + 1 : 1;
  in.first = last ? 1 : 2;
  in.channels = in.dims[in.channel];
  return in;
}

absl::StatusOr<Windows> ReadConvWindows(const InferContext& ctx, const ConvInput& in) {
  const int spatial = static_cast<int>(in.dims.size()) - 2;
  absl::StatusOr<Windows> windows =
      ReadWindows(ctx.op(), Slice(in.dims, in.first, in.first + spatial), Slice(ctx.In("Filter").dims, 2, spatial + 2));
  if (!windows.ok()) return Fail(ctx, 7, windows.status().message());
  return windows;
}

absl::Status CheckConvBias(const InferContext& ctx, int64_t channels, int c) {
  if (!ctx.Has("Bias")) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(NeedSameOrFp32(ctx, "Bias", c));
  const TensorType& bias = ctx.In("Bias");
  if (!bias.has_rank || !Differ(Product(bias.dims), channels)) return absl::OkStatus();
  return Fail(ctx, c, "Bias has ", Product(bias.dims), " elements, needs ", channels);
}

OpDef& ConvExtras(OpDef& def) {
  return def.Extra("use_cudnn", true)
      .Extra("is_test", false)
      .Extra("use_addto", false)
      .Extra("exhaustive_search", false)
      .Extra("force_fp32_output", false)
      .Extra("workspace_size_MB", 512)
      .Extra("fuse_relu_before_depthwise_conv", false)
      .Extra("fuse_relu", false)
      .Extra("fuse_brelu", false)
      .Extra("fuse_brelu_threshold", 6.0f)
      .Extra("fuse_activation", "")
      .Extra("fuse_alpha", 0.0f)
      .Extra("fuse_beta", 0.0f)
      .Extra("fuse_residual_connection", false)
      .Extra("Scale_in", 1.0f)
      .Extra("Scale_in_eltwise", 1.0f)
      .Extra("Scale_out", 1.0f)
      .Extra("Scale_weights", Floats{1.0f});
}

OpDef Convolution(std::string name, int spatial, std::string doc) {
  OpDef def(name);
  def.Doc(std::move(doc))
      .In("Input")
      .In("Filter")
      .OptIn("Bias")
      .OptIn("ResidualData")
      .Out("Output")
      .A("strides", Ints(spatial, 1))
      .A("paddings", Ints(spatial, 0))
      .A("padding_algorithm", "EXPLICIT")
      .A("groups", 1)
      .A("dilations", Ints(spatial, 1))
      .A("data_format", spatial == 3 ? "NCDHW" : "NCHW")
      .Infer(spatial == 3 ? InferConv<3> : InferConv<2>)
      .CostIs(ConvCost)
      .GradientOp({"Input Filter", "Output", "Input Filter"})
      .Weights(WeightUse::kConv);
  return ConvExtras(def);
}

}  // namespace ampc::ops
