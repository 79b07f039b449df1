// Interpolation of families.h.
#include <algorithm>
#include <utility>

#include "graph/base/size.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/window.h"

namespace ampc::ops {
namespace {

// The sizes of the spatial dimensions `in`, from (in this order) SizeTensor, OutSize, Scale, scale, out_d/out_h/out_w.
std::vector<int64_t> Sizes(const InferContext& ctx, absl::Span<const int64_t> in) {
  const size_t n = in.size();
  std::vector<int64_t> out(n, kUnknownDim);
  if (ctx.Has("SizeTensor") || ctx.Has("OutSize")) {
    const ShapeArg size = ReadShapeArg(ctx, "SizeTensor", "OutSize", "");
    for (size_t i = 0; size.has_value() && size->size() == n && i < n; ++i) out[i] = (*size)[i].value_or(kUnknownDim);
    return out;
  }
  std::vector<double> scale = ctx.op().GetFloats("scale");
  if (ctx.Has("Scale")) {
    const std::optional<double> value = ctx.Float("Scale");
    if (!value.has_value()) return out;
    scale = {*value};
  }
  constexpr const char* kSizeAttrs[] = {"out_d", "out_h", "out_w"};
  for (size_t i = 0; i < n; ++i) {
    if (!scale.empty()) {
      const float factor = static_cast<float>(scale[scale.size() == 1 ? 0 : i]);  // Paddle multiplies in f32: 10 * 0.7f is 7
      if (IsKnown(in[i])) out[i] = SatInt(static_cast<float>(in[i]) * factor);
    } else if (const int64_t size = ctx.op().GetInt(kSizeAttrs[3 - n + i]); size > 0) {
      out[i] = size;
    }
  }
  return out;
}

// Over `kMin` to `kMax` spatial dimensions.
template <int kMin, int kMax>
absl::Status InferInterpolation(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", kMin + 2, kMax + 2, 1));
  const std::string layout = ctx.op().GetString("data_layout");
  const bool volume = kMax == 3 && (layout == "NCDHW" || layout == "NDHWC");
  if (layout != "NCHW" && layout != "NHWC" && !volume) return Fail(ctx, 2, "data_layout is '", layout, "', needs NCHW or NHWC");
  TensorType out = ctx.In("X");
  const size_t most = out.has_rank ? out.dims.size() - 2 : kMax;
  const std::vector<double> scale = ctx.op().GetFloats("scale");
  if (scale.size() > most) return Fail(ctx, 3, "scale has ", scale.size(), " numbers, needs at most ", most);
  if (scale.size() > 1 && scale.size() < most && out.has_rank)
    return Fail(ctx, 3, "scale has ", scale.size(), " numbers, needs 1 or ", most);
  for (double s : scale) {
    if (!(s > 0)) return Fail(ctx, 3, "scale has ", s, ", needs positive numbers");
  }
  if (ctx.Has("SizeTensor") && out.has_rank && ctx.Count("SizeTensor") != static_cast<int>(most)) {
    return Fail(ctx, 4, "SizeTensor has ", ctx.Count("SizeTensor"), " tensors, needs ", most);
  }
  if (out.has_rank) {
    const int first = ChannelsLast(layout) ? 1 : 2;
    const std::vector<int64_t> sizes = Sizes(ctx, Slice(out.dims, first, first + static_cast<int>(most)));
    std::copy(sizes.begin(), sizes.end(), out.dims.begin() + first);
  }
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

InferFn InferOf(const std::string& method) {
  if (method == "linear") return InferInterpolation<1, 1>;
  if (method == "trilinear") return InferInterpolation<3, 3>;
  return method == "nearest" ? InferInterpolation<2, 3> : InferInterpolation<2, 2>;
}

}  // namespace

OpDef Interpolation(std::string name, std::string method, std::string doc) {
  OpDef def(name);
  def.Doc(std::move(doc))
      .In("X")
      .HostIn("OutSize")
      .HostVarIn("SizeTensor")
      .HostIn("Scale")
      .Out("Out")
      .A("data_layout", "NCHW")
      .A("out_d", 0)
      .A("out_h", 0)
      .A("out_w", 0)
      .A("scale", Floats{})
      .A("interp_method", method)
      .A("align_corners", true)
      .A("align_mode", 1)
      .Infer(InferOf(method))
      .GradientOp({"X OutSize SizeTensor Scale", "Out", "X"})
      .Traits({OpTrait::kResample});
  return def;
}

}  // namespace ampc::ops
