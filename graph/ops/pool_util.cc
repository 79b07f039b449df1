#include "graph/ops/pool_util.h"

#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

template <int kSpatial>
absl::Status InferPool(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", kSpatial + 2, kSpatial + 2, 1));
  const Op& op = ctx.op();
  const std::string type = op.GetString("pooling_type");
  if (type != "max" && type != "avg") return Fail(ctx, 2, "pooling_type is '", type, "', needs max or avg");
  const std::string layout = op.GetString("data_format");
  const bool volume = kSpatial == 3 && (layout == "NCDHW" || layout == "NDHWC");
  if (layout != "NCHW" && layout != "NHWC" && layout != "AnyLayout" && !volume)
    return Fail(ctx, 3, "data_format is '", layout, "', needs ", kSpatial == 3 ? "NCDHW or NDHWC" : "NCHW or NHWC");
  TensorType out = ctx.In("X");
  if (!out.has_rank) out = TensorType(out.dtype, Dims(kSpatial + 2, kUnknownDim));
  const int first = ChannelsLast(layout) ? 1 : 2;
  const std::vector<int64_t> ksize = op.GetInts("ksize");
  const bool global = op.GetBool("global_pooling");
  if (!global && ksize.size() != kSpatial) return Fail(ctx, 4, "ksize has ", ksize.size(), " numbers, needs ", kSpatial);
  for (int64_t k : ksize) {
    if (!global && k <= 0) return Fail(ctx, 4, "ksize has ", k, ", needs positive numbers");
  }
  if (global || op.GetBool("adaptive")) {
    for (int i = 0; i < kSpatial; ++i) out.dims[first + i] = global ? 1 : ksize[i];
    ctx.Out("Out", out);
    return absl::OkStatus();
  }
  const absl::StatusOr<Windows> windows = ReadWindows(op, Slice(out.dims, first, first + kSpatial), ksize);
  if (!windows.ok()) return Fail(ctx, 5, windows.status().message());
  for (int i = 0; i < kSpatial; ++i) {
    const int64_t in = out.dims[first + i];
    const Window& w = (*windows)[i];
    out.dims[first + i] = WindowOutput(w, in, op.GetBool("ceil_mode"));
    if (IsKnown(in) && out.dims[first + i] <= 0) {
      return Fail(ctx, 6, "the window of ", w.kernel, " does not fit ", in, " positions with padding ", w.before, " + ", w.after);
    }
  }
  ctx.Out("Out", out);
  return absl::OkStatus();
}

// Every element of X lies in about one window where windows do not overlap; overlapping ones read it from cache.
Cost PoolCost(const Op& op) {
  double window = 1;
  for (int64_t k : op.GetInts("ksize")) window *= static_cast<double>(k);
  const double covered = op.GetBool("global_pooling") || op.GetBool("adaptive") ? OperandElements(op) : window * ResultElements(op);
  return {covered, TotalBytes(op)};
}

}  // namespace

OpDef Pooling(std::string name, int spatial, std::string doc) {
  OpDef def(name);
  return def.Doc(std::move(doc))
      .In("X")
      .Out("Out")
      .Required("pooling_type", "")
      .Required("ksize", Ints{})
      .A("global_pooling", false)
      .A("strides", Ints(spatial, 1))
      .A("paddings", Ints(spatial, 0))
      .A("exclusive", true)
      .A("adaptive", false)
      .A("ceil_mode", false)
      .A("data_format", spatial == 3 ? "NCDHW" : "NCHW")
      .A("padding_algorithm", "EXPLICIT")
      .Extra("use_cudnn", true)
      .Extra("is_test", false)
      .Infer(spatial == 3 ? InferPool<3> : InferPool<2>)
      .CostIs(PoolCost)
      .Amp(kInfer, "max selects; a mean is accumulated in fp32 and lies between its operands, so it cannot overflow")
      .GradientOp({"X Out", "Out", "X"})
      .Traits({OpTrait::kResample});
}

}  // namespace ampc::ops
