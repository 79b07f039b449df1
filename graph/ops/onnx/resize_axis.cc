#include "graph/ops/onnx/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace ampc::onnx {
namespace {

// The cubic convolution kernel at distance `x`.
double Cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double Linear(double x) { return std::max(0.0, 1 - std::abs(x)); }

}  // namespace

double ResizePoint(const ResizeAxis& axis, const std::string& coordinate, int64_t i) {
  const double x = static_cast<double>(i), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (coordinate == "asymmetric") return x / axis.scale;
  if (coordinate == "align_corners") return axis.out > 1 ? x * (in - 1) / (out - 1) : 0;
  if (coordinate == "pytorch_half_pixel" && axis.out <= 1) return 0;
  if (coordinate == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (coordinate == "tf_crop_and_resize") {
    const double size = axis.roi_end - axis.roi_begin;
    return axis.out > 1 ? axis.roi_begin * (in - 1) + x * size * (in - 1) / (out - 1) : 0.5 * (axis.roi_begin + axis.roi_end) * (in - 1);
  }
  const double point = (x + 0.5) / axis.scale - 0.5;
  return coordinate == "half_pixel_symmetric" ? point + in / 2 * (1 - out / (in * axis.scale)) : point;
}

bool IsExtrapolated(const ResizeAxis& axis, const ResizeMode& mode, int64_t i) {
  if (mode.coordinate != "tf_crop_and_resize") return false;
  const double point = ResizePoint(axis, mode.coordinate, i);
  return point < 0 || point > static_cast<double>(axis.in - 1);
}

int64_t NearestPosition(const ResizeAxis& axis, const ResizeMode& mode, int64_t i) {
  const double x = ResizePoint(axis, mode.coordinate, i);
  const bool up = mode.nearest == "ceil" || (mode.nearest == "simple" && axis.scale < 1);
  const double at = up                                     ? std::ceil(x)
                    : mode.nearest == "round_prefer_floor" ? std::ceil(x - 0.5)
                    : mode.nearest == "round_prefer_ceil"  ? std::floor(x + 0.5)
                                                           : std::floor(x);
  return std::clamp<int64_t>(static_cast<int64_t>(at), 0, axis.in - 1);
}

std::vector<ResizeTap> ResizeTaps(const ResizeAxis& axis, const ResizeMode& mode, int64_t i) {
  const double x = ResizePoint(axis, mode.coordinate, i), shrink = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (mode.mode == "cubic" ? 2 : 1) / shrink, low = std::floor(x);
  const int64_t first = static_cast<int64_t>(std::floor(x - reach)) + 1, last = static_cast<int64_t>(std::ceil(x + reach)) - 1;
  std::vector<ResizeTap> taps;
  double sum = 0;
  for (int64_t at = first; at <= last; ++at) {
    const double distance = (static_cast<double>(at) - low - (x - low)) * shrink;
    const double weight = mode.mode == "cubic" ? Cubic(distance, mode.cubic_a) : Linear(distance);
    const bool outside = at < 0 || at >= axis.in;
    if (outside && mode.exclude_outside) continue;
    taps.push_back({std::clamp<int64_t>(at, 0, axis.in - 1), weight});
    sum += weight;
  }
  const bool normalize = mode.exclude_outside || mode.antialias;
  for (ResizeTap& tap : taps) tap.weight /= normalize && sum != 0 ? sum : 1;
  return taps;
}

}  // namespace ampc::onnx
