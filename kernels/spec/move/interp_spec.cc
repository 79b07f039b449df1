#include "kernels/spec/move/interp_spec.h"

#include <vector>

#include "absl/strings/match.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"

namespace ampc {
namespace {

float Ratio(int64_t in, int64_t out, float scale, bool align_corners) {
  if (out <= 1) return 0;
  if (align_corners) return static_cast<float>(in - 1) / static_cast<float>(out - 1);
  return scale > 0 ? 1 / scale : static_cast<float>(in) / static_cast<float>(out);
}

// The factor of each spatial dimension, 0 where the size was given instead.
absl::StatusOr<std::vector<float>> Scales(const SpecView& view, size_t spatial) {
  std::vector<double> scale;
  if (const int flat = view.In("Scale"); flat >= 0 && view.NumIn("SizeTensor") == 0) {
    const HostTensor* value = view.spec().values[flat];
    for (int64_t i = 0; value != nullptr && i < value->num_elements(); ++i) scale.push_back(ReadAsDouble(value->data(), value->dtype(), i));
  } else if (view.NumIn("SizeTensor") == 0) {
    scale = view.op().GetFloats("scale");
  }
  if (scale.empty()) scale = {0};
  if (scale.size() == 1) scale.resize(spatial, scale[0]);
  if (scale.size() != spatial) return view.Internal("scale has neither one number nor one per spatial dimension");
  return std::vector<float>(scale.begin(), scale.end());
}

}  // namespace

absl::StatusOr<InterpSpec> ReadInterp(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  const Op& op = view.op();
  const bool last_dims = ops::ChannelsLast(op.GetString("data_layout")), last = last_dims || x.layout == Layout::kChannelsLast;
  const size_t spatial = x.dims.size() - 2, first = last_dims ? 1 : 2;
  const int64_t channels = last_dims ? x.dims.back() : x.dims[1];
  AMPC_ASSIGN_OR_RETURN(const std::vector<float> scales, Scales(view, spatial));
  InterpSpec s;
  s.planes = last ? x.dims[0] : x.dims[0] * channels;
  s.channels = last ? channels : 1;
  s.taps = absl::StartsWith(op.type(), "nearest") ? 1 : absl::StartsWith(op.type(), "bicubic") ? 4 : 2;
  const bool align_corners = op.GetBool("align_corners", true);
  const bool half_pixel = !align_corners && (s.taps == 4 || op.GetInt("align_mode", 1) == 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = x.dims[first + i], size = out.dims[first + i];
    if (in == 0) return view.Unsupported("there is no position to sample");
    s.axes[3 - spatial + i] = {in, size, Ratio(in, size, scales[i], align_corners), s.taps, align_corners, half_pixel};
  }
  return s;
}

}  // namespace ampc
