#include "kernels/layout.h"

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ampc {
namespace {

// Copies the block of at most 8 x 8 elements at `in` (row stride `cols`) to `out` (row stride `rows`), transposed.
using BlockFn = void (*)(const float* in, int64_t cols, float* out, int64_t rows, int height, int width);

void PlainBlock(const float* in, int64_t cols, float* out, int64_t rows, int height, int width) {
  for (int c = 0; c < width; ++c) {
    for (int r = 0; r < height; ++r) out[c * rows + r] = in[r * cols + c];
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) inline void Transpose8x8(__m256* v) {
  __m256 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    v[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    v[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    v[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    v[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
  }
  for (int i = 0; i < 8; ++i) v[i] = t[i];
}

__attribute__((target("avx2"))) void Avx2Block(const float* in, int64_t cols, float* out, int64_t rows, int height, int width) {
  __m256 v[8];
  if (height == 8 && width == 8) {
    for (int r = 0; r < 8; ++r) v[r] = _mm256_loadu_ps(in + r * cols);
    Transpose8x8(v);
    for (int c = 0; c < 8; ++c) _mm256_storeu_ps(out + c * rows, v[c]);
    return;
  }
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i in_width = _mm256_cmpgt_epi32(_mm256_set1_epi32(width), lane);
  const __m256i in_height = _mm256_cmpgt_epi32(_mm256_set1_epi32(height), lane);
  for (int r = 0; r < 8; ++r) v[r] = r < height ? _mm256_maskload_ps(in + r * cols, in_width) : _mm256_setzero_ps();
  Transpose8x8(v);
  for (int c = 0; c < width; ++c) _mm256_maskstore_ps(out + c * rows, in_height, v[c]);
}
#endif

BlockFn ChooseBlock() {
#if defined(__x86_64__)
  static const BlockFn fn = __builtin_cpu_supports("avx2") ? &Avx2Block : &PlainBlock;
  return fn;
#else
  return &PlainBlock;
#endif
}

}  // namespace

void Transpose2D(int threads, int64_t batch, int64_t rows, int64_t cols, const float* in, float* out) {
  if (rows == 1 || cols == 1) {
    const int64_t size = batch * rows * cols;
    ParallelFor(threads, size, 1 << 16, [&](int64_t first, int64_t last) { std::memcpy(out + first, in + first, (last - first) * sizeof(float)); });
    return;
  }
  // Strips along the longer side: a strip writes (or reads) whole cache lines of 8 rows.
  const BlockFn block = ChooseBlock();
  const bool by_cols = cols >= rows;
  const int64_t strips = ((by_cols ? cols : rows) + 7) / 8;
  const int64_t strip_size = 8 * (by_cols ? rows : cols);
  ParallelFor(threads, batch * strips, std::max<int64_t>(1, (1 << 14) / strip_size), [&](int64_t first, int64_t last) {
    for (int64_t s = first; s < last; ++s) {
      const float* src = in + s / strips * rows * cols;
      float* dst = out + s / strips * rows * cols;
      const int64_t at = s % strips * 8;
      const int64_t end = by_cols ? rows : cols;
      for (int64_t i = 0; i < end; i += 8) {
        const int64_t r = by_cols ? i : at;
        const int64_t c = by_cols ? at : i;
        block(src + r * cols + c, cols, dst + c * rows + r, rows, static_cast<int>(std::min<int64_t>(8, rows - r)),
              static_cast<int>(std::min<int64_t>(8, cols - c)));
      }
    }
  });
}

void ConvertLayout(int threads, const Dims& dims, Layout from, Layout to, const float* in, float* out) {
  const int64_t c = dims[1];
  const int64_t hw = dims[2] * dims[3];
  if (from == to) {
    Transpose2D(threads, 1, 1, dims[0] * c * hw, in, out);
  } else if (to == Layout::kChannelsLast) {
    Transpose2D(threads, dims[0], c, hw, in, out);
  } else {
    Transpose2D(threads, dims[0], hw, c, in, out);
  }
}

}  // namespace ampc
