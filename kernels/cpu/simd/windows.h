// Vector loops of pooling. Sums have a fixed order, whatever the instruction set; NaN wins over everything. T: float, or uint16_t for the
// bits of bf16.
#pragma once

#include <cstdint>

namespace ampc::simd {

// A window of `rows` x `cols` positions, `row_stride` and `col_stride` elements apart, each with `n` contiguous channels.
template <typename T>
struct Window {
  const T* at;
  int64_t rows, cols, row_stride, col_stride;
};
// out[c] = the largest, or the sum times `factor`, over the window, which is not empty.
void WindowMax(const Window<float>& w, float* out, int64_t n);
void WindowMax(const Window<uint16_t>& w, float* out, int64_t n);
void WindowSum(const Window<float>& w, float factor, float* out, int64_t n);
void WindowSum(const Window<uint16_t>& w, float factor, float* out, int64_t n);

// A run of windows of all `lines` and of `cols` columns each, the first at the lines' begin, the next ones `step` columns apart. A column
// has `n` contiguous channels.
template <typename T>
struct WindowRow {
  const T* const* lines;
  int64_t count, cols, step, windows, n;
};
// out[i * n + c] = the largest, or the sum times `factor`, of window i, which is not empty: of the lines of a column first.
void WindowRowMax(const WindowRow<float>& w, float* out);
void WindowRowMax(const WindowRow<uint16_t>& w, float* out);
void WindowRowSum(const WindowRow<float>& w, float factor, float* out);
void WindowRowSum(const WindowRow<uint16_t>& w, float factor, float* out);

}  // namespace ampc::simd
