// Vector loops of resizing: rows and pixels are added up by weights.
#pragma once

#include <cstdint>

namespace ampc::simd {

// out[i] = the sum over r < count of rows[r][i] * weight[r], one after the other; count >= 1.
void BlendRows(const float* const* rows, const float* weight, int count, float* out, int64_t n);

// The pixels that make pixel x of `width`: position at[k * width + x] by weight[k * width + x] for each k < taps, which is 2 or 4.
struct PixelBlend {
  int taps = 2;
  int64_t width = 0;
  const int32_t* at = nullptr;
  const float* weight = nullptr;
};
// out[x * channels + c] = the sum over k of row[at * channels + c] * weight, one after the other.
void BlendPixels(const float* row, const PixelBlend& blend, int64_t channels, float* out);

}  // namespace ampc::simd
