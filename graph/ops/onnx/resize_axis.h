// The source of each position of a resized dim, as the standard computes it for Resize and Upsample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ampc::onnx {

struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;                   // out over in, or the number given
  double roi_begin = 0, roi_end = 1;  // for tf_crop_and_resize
};

struct ResizeMode {
  std::string mode = "nearest";                                           // nearest, linear, cubic
  std::string coordinate = "half_pixel", nearest = "round_prefer_floor";  // nearest "simple": down for larger results, else up
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

// A position of the operand and its weight.
struct ResizeTap {
  int64_t at = 0;
  double weight = 1;
};

// The point of the operand that position `i` of the result shows.
double ResizePoint(const ResizeAxis& axis, const std::string& coordinate, int64_t i);
// It lies outside of the operand: what is shown there is the extrapolation value.
bool IsExtrapolated(const ResizeAxis& axis, const ResizeMode& mode, int64_t i);
// For mode nearest: the position that is copied.
int64_t NearestPosition(const ResizeAxis& axis, const ResizeMode& mode, int64_t i);
// For the others: what is summed, positions inside the operand.
std::vector<ResizeTap> ResizeTaps(const ResizeAxis& axis, const ResizeMode& mode, int64_t i);

}  // namespace ampc::onnx
