#include "graph/ops/onnx/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "graph/base/size.h"

namespace ampc::onnx {
namespace {

// The cubic convolution kernel at distance `x`.
double Cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double Linear(double x) { return std::max(0.0, 1 - std::abs(x)); }

template <typename T>
T Point(const ResizeAxis& axis, const std::string& coordinate, int64_t i) {
  constexpr T kHalf = 0.5;
  const T x = static_cast<T>(i), in = static_cast<T>(axis.in), out = static_cast<T>(axis.out), scale = static_cast<T>(axis.scale);
  if (coordinate == "asymmetric") return x / scale;
  if (coordinate == "align_corners") return axis.out > 1 ? x * (in - 1) / (out - 1) : 0;
  if (coordinate == "pytorch_half_pixel" && axis.out <= 1) return 0;
  if (coordinate == "tf_half_pixel_for_nn") return (x + kHalf) / scale;
  if (coordinate == "tf_crop_and_resize") {
    const T begin = static_cast<T>(axis.roi_begin), end = static_cast<T>(axis.roi_end);
    return axis.out > 1 ? begin * (in - 1) + x * (end - begin) * (in - 1) / (out - 1) : kHalf * (begin + end) * (in - 1);
  }
  const T offset = coordinate == "half_pixel_symmetric" ? in / 2 * (1 - out / (in * scale)) : 0;
  return offset + (x + kHalf) / scale - kHalf;
}

}  // namespace

double ResizePoint(const ResizeAxis& axis, const std::string& coordinate, int64_t i) { return Point<double>(axis, coordinate, i); }

bool IsExtrapolated(const ResizeAxis& axis, const ResizeMode& mode, int64_t i) {
  if (mode.coordinate != "tf_crop_and_resize") return false;
  const double point = ResizePoint(axis, mode.coordinate, i);
  return point < 0 || point > static_cast<double>(axis.in - 1);
}

// Of two positions that are equally near, the one that ONNX Runtime's arithmetic in f32 comes to.
int64_t NearestPosition(const ResizeAxis& axis, const ResizeMode& mode, int64_t i) {
  const float x = Point<float>(axis, mode.coordinate, i);
  const bool up = mode.nearest == "ceil" || (mode.nearest == "simple" && axis.scale < 1);
  const float at = up                                     ? std::ceil(x)
                   : mode.nearest == "round_prefer_floor" ? std::ceil(x - 0.5f)
                   : mode.nearest == "round_prefer_ceil"  ? std::floor(x + 0.5f)
                                                          : std::floor(x);
  return std::clamp<int64_t>(SatInt(at), 0, axis.in - 1);
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
