#include "kernels/layout.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "kernels/halves.h"
#include "kernels/parallel.h"
#include "kernels/round.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ampc {
namespace {

// Of an image or a volume.
int64_t Positions(const Dims& dims) { return std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>()); }

// A rectangle of a matrix of rows x cols.
struct Rect {
  int64_t row, row_end, col, col_end;
};
// Writes the rectangle of `in` to its place in `out`, which is cols x rows.
using RectFn = void (*)(const float* in, int64_t rows, int64_t cols, const Rect& r, float* out);

void PlainRect(const float* in, int64_t rows, int64_t cols, const Rect& rect, float* out) {
  for (int64_t c = rect.col; c < rect.col_end; ++c) {
    for (int64_t r = rect.row; r < rect.row_end; ++r) out[c * rows + r] = in[r * cols + c];
  }
}

#if defined(__x86_64__)
// Unrolled, so that the 8 vectors stay in registers.
__attribute__((target("avx2"))) inline void Transpose8x8(__m256* v) {
  __m256 t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 4) {
    v[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    v[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    v[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    v[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) v[i] = t[i];
}

// At most 8 x 8.
__attribute__((target("avx2"))) inline void PartialBlock(const float* in, int64_t cols, float* out, int64_t rows, int64_t height,
                                                         int64_t width) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i in_width = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(width)), lane);
  const __m256i in_height = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(height)), lane);
  __m256 v[8];
  for (int r = 0; r < 8; ++r) v[r] = r < height ? _mm256_maskload_ps(in + r * cols, in_width) : _mm256_setzero_ps();
  Transpose8x8(v);
  for (int c = 0; c < width; ++c) _mm256_maskstore_ps(out + c * rows, in_height, v[c]);
}

__attribute__((target("avx2"))) void Avx2Rect(const float* in, int64_t rows, int64_t cols, const Rect& rect, float* out) {
  for (int64_t c = rect.col; c < rect.col_end; c += 8) {
    for (int64_t r = rect.row; r < rect.row_end; r += 8) {
      const float* from = in + r * cols + c;
      float* to = out + c * rows + r;
      if (r + 8 > rect.row_end || c + 8 > rect.col_end) {
        PartialBlock(from, cols, to, rows, std::min<int64_t>(8, rect.row_end - r), std::min<int64_t>(8, rect.col_end - c));
        continue;
      }
      __m256 v[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) v[i] = _mm256_loadu_ps(from + i * cols);
      Transpose8x8(v);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) _mm256_storeu_ps(to + i * rows, v[i]);
    }
  }
}
#endif

#if defined(__x86_64__)
// Three planes to pixels of three channels, as an image is fed: columns [first, last).
void InterleaveThree(const float* in, int64_t cols, int64_t first, int64_t last, float* out) {
  const float *a = in, *b = in + cols, *c = in + 2 * cols;
  int64_t i = first;
  for (; i + 4 <= last; i += 4) {
    const __m128 va = _mm_loadu_ps(a + i), vb = _mm_loadu_ps(b + i), vc = _mm_loadu_ps(c + i);
    const __m128 low = _mm_unpacklo_ps(va, vb), high = _mm_unpackhi_ps(va, vb);        // a0 b0 a1 b1, a2 b2 a3 b3
    const __m128 x = _mm_shuffle_ps(vc, va, _MM_SHUFFLE(1, 1, 0, 0));                  // c0 c0 a1 a1
    const __m128 y = _mm_shuffle_ps(vb, vc, _MM_SHUFFLE(1, 1, 1, 1));                  // b1 b1 c1 c1
    const __m128 z = _mm_shuffle_ps(vc, high, _MM_SHUFFLE(3, 2, 3, 2));                // c2 c3 a3 b3
    _mm_storeu_ps(out + 3 * i, _mm_shuffle_ps(low, x, _MM_SHUFFLE(2, 0, 1, 0)));       // a0 b0 c0 a1
    _mm_storeu_ps(out + 3 * i + 4, _mm_shuffle_ps(y, high, _MM_SHUFFLE(1, 0, 2, 0)));  // b1 c1 a2 b2
    _mm_storeu_ps(out + 3 * i + 8, _mm_shuffle_ps(z, z, _MM_SHUFFLE(1, 3, 2, 0)));     // c2 a3 b3 c3
  }
  for (; i < last; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
  }
}
#endif

// move(first, last) and then round, if it is not null, on the results of [first, last), `width` for each, in ranges of some 8 kB: they are
// in the first-level cache.
template <typename Move>
void InTiles(int64_t first, int64_t last, int64_t width, RoundFn round, float* out, Move move) {
  const int64_t tile = round == nullptr ? last - first : (1 << 11) / width;
  for (int64_t i = first; i < last; i += tile) {
    const int64_t end = std::min(last, i + tile);
    move(i, end);
    if (round != nullptr) round(out + i * width, static_cast<size_t>((end - i) * width));
  }
}

// Rounds the results that `rect` has written.
void RoundRect(RoundFn round, int64_t rows, const Rect& rect, float* out) {
  const int64_t height = rect.row_end - rect.row;
  if (height == rows) return round(out + rect.col * rows, static_cast<size_t>((rect.col_end - rect.col) * rows));
  for (int64_t c = rect.col; c < rect.col_end; ++c) round(out + c * rows + rect.row, static_cast<size_t>(height));
}

RectFn ChooseRect() {
#if defined(__x86_64__)
  static const RectFn fn = __builtin_cpu_supports("avx2") ? &Avx2Rect : &PlainRect;
  return fn;
#else
  return &PlainRect;
#endif
}

void Transpose(int threads, int64_t batch, int64_t rows, int64_t cols, const float* in, float* out, RoundFn round) {
  if (batch * rows * cols == 0) return;
  if (rows == 1 || cols == 1) {
    const int64_t size = batch * rows * cols;
    const auto copy = [&](int64_t first, int64_t last) { std::memcpy(out + first, in + first, (last - first) * sizeof(float)); };
    ParallelFor(threads, size, 1 << 16, [&](int64_t first, int64_t last) { InTiles(first, last, 1, round, out, copy); });
    return;
  }
#if defined(__x86_64__)
  if (rows == 3) {
    for (int64_t i = 0; i < batch; ++i, in += 3 * cols, out += 3 * cols) {
      const auto interleave = [&](int64_t first, int64_t last) { InterleaveThree(in, cols, first, last, out); };
      ParallelFor(threads, cols, 1 << 13, [&](int64_t first, int64_t last) { InTiles(first, last, 3, round, out, interleave); });
    }
    return;
  }
#endif
  // Strips across the longer side, one cache line wide.
  constexpr int64_t kStrip = 16;
  const RectFn rect = ChooseRect();
  const bool by_cols = cols >= rows;
  const int64_t side = by_cols ? cols : rows;
  const int64_t strips = (side + kStrip - 1) / kStrip;
  const int64_t strip_size = kStrip * (by_cols ? rows : cols);
  ParallelFor(threads, batch * strips, std::max<int64_t>(1, (1 << 14) / strip_size), [&](int64_t first, int64_t last) {
    for (int64_t s = first; s < last; ++s) {
      const int64_t image = s / strips * rows * cols;
      const int64_t at = s % strips * kStrip, end = std::min(side, at + kStrip);
      const Rect strip = by_cols ? Rect{0, rows, at, end} : Rect{at, end, 0, cols};
      rect(in + image, rows, cols, strip, out + image);
      if (round != nullptr) RoundRect(round, rows, strip, out + image);
    }
  });
}

#if defined(__x86_64__)
// An 8 x 8 block.
inline void Transpose16Block(const uint16_t* in, int64_t cols, uint16_t* out, int64_t rows) {
  __m128i v[8], t[8];
  for (int i = 0; i < 8; ++i) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * cols));
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {  // of rows 4 i to 4 i + 3: columns 2 k and 2 k + 1 in v[4 i + k]
    v[4 * i] = _mm_unpacklo_epi32(t[4 * i], t[4 * i + 2]);
    v[4 * i + 1] = _mm_unpackhi_epi32(t[4 * i], t[4 * i + 2]);
    v[4 * i + 2] = _mm_unpacklo_epi32(t[4 * i + 1], t[4 * i + 3]);
    v[4 * i + 3] = _mm_unpackhi_epi32(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int k = 0; k < 4; ++k) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * k * rows), _mm_unpacklo_epi64(v[k], v[4 + k]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * k + 1) * rows), _mm_unpackhi_epi64(v[k], v[4 + k]));
  }
}
#endif

void Transpose16Rect(const uint16_t* in, int64_t rows, int64_t cols, const Rect& rect, uint16_t* out) {
  for (int64_t c = rect.col; c < rect.col_end; c += 8) {
    for (int64_t r = rect.row; r < rect.row_end; r += 8) {
      const int64_t width = std::min<int64_t>(8, rect.col_end - c), height = std::min<int64_t>(8, rect.row_end - r);
#if defined(__x86_64__)
      if (width == 8 && height == 8) {
        Transpose16Block(in + r * cols + c, cols, out + c * rows + r, rows);
        continue;
      }
#endif
      for (int64_t i = 0; i < height; ++i) {
        for (int64_t k = 0; k < width; ++k) out[(c + k) * rows + r + i] = in[(r + i) * cols + c + k];
      }
    }
  }
}

// Elements that a block of another storage takes up as floats, beside as many of its result.
constexpr int64_t kBlock = 4096;

// A block of a matrix, [r, r + height) x [c, c + width), by floats on the stack.
void TransposeBlock(const void* in, DType from, void* out, DType to, int64_t rows, int64_t cols, const Rect& b, int64_t image) {
  float wide[kBlock], turned[kBlock];
  const int64_t height = b.row_end - b.row, width = b.col_end - b.col;
  for (int64_t i = 0; i < height; ++i) {
    const float* const row = FloatsAt(in, from, image + (b.row + i) * cols + b.col, width, wide + i * width);
    if (row != wide + i * width) std::memcpy(wide + i * width, row, static_cast<size_t>(width) * sizeof(float));
  }
#if defined(__x86_64__)
  if (height == 3) {
    InterleaveThree(wide, width, 0, width, turned);
  } else {
    ChooseRect()(wide, height, width, {0, height, 0, width}, turned);
  }
#else
  ChooseRect()(wide, height, width, {0, height, 0, width}, turned);
#endif
  for (int64_t k = 0; k < width; ++k) {
    const int64_t at = image + (b.col + k) * rows + b.row;
    if (height == rows) {  // the block's columns are neighbours
      if (to == DType::kF32) {
        std::memcpy(static_cast<float*>(out) + at, turned, static_cast<size_t>(width * height) * sizeof(float));
      } else {
        StoreFloats(turned, to, at, width * height, out);
      }
      return;
    }
    if (to == DType::kF32) {
      std::memcpy(static_cast<float*>(out) + at, turned + k * height, static_cast<size_t>(height) * sizeof(float));
    } else {
      StoreFloats(turned + k * height, to, at, height, out);
    }
  }
}

constexpr int64_t kByteBlock = 16;

#if defined(__x86_64__)
// kByteBlock x kByteBlock bytes: four shuffles of the two halves, each of which doubles how many elements of a column are neighbours.
void TransposeByteBlock(const uint8_t* in, int64_t cols, uint8_t* out, int64_t rows) {
  __m128i v[kByteBlock], t[kByteBlock];
  for (int i = 0; i < kByteBlock; ++i) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * cols));
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < kByteBlock / 2; ++i) {
      t[2 * i] = _mm_unpacklo_epi8(v[i], v[i + kByteBlock / 2]);
      t[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + kByteBlock / 2]);
    }
    std::copy(t, t + kByteBlock, v);
  }
  for (int i = 0; i < kByteBlock; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * rows), v[i]);
}
#endif

void PlainByteRect(const uint8_t* in, int64_t rows, int64_t cols, const Rect& r, uint8_t* out) {
  for (int64_t c = r.col; c < r.col_end; ++c) {
    for (int64_t i = r.row; i < r.row_end; ++i) out[c * rows + i] = in[i * cols + c];
  }
}

void TransposeByteRect(const uint8_t* in, int64_t rows, int64_t cols, const Rect& rect, uint8_t* out) {
  for (int64_t r = rect.row; r < rect.row_end; r += kByteBlock) {
    for (int64_t c = rect.col; c < rect.col_end; c += kByteBlock) {
      const Rect block{r, std::min(rect.row_end, r + kByteBlock), c, std::min(rect.col_end, c + kByteBlock)};
#if defined(__x86_64__)
      if (block.row_end - r == kByteBlock && block.col_end - c == kByteBlock) {
        TransposeByteBlock(in + r * cols + c, cols, out + c * rows + r, rows);
        continue;
      }
#endif
      PlainByteRect(in, rows, cols, block, out);
    }
  }
}

}  // namespace

void TransposeStored(int threads, int64_t batch, int64_t rows, int64_t cols, const void* in, DType from, void* out, DType to) {
  if (from == DType::kF32 && to == DType::kF32) {
    return Transpose(threads, batch, rows, cols, static_cast<const float*>(in), static_cast<float*>(out), nullptr);
  }
  if (batch * rows * cols == 0) return;
  if (rows == 1 || cols == 1) return ConvertStored(in, from, out, to, batch * rows * cols, threads);
  const bool same = from == to;
  // Blocks of whole columns where those are short.
  const int64_t height = std::min<int64_t>(rows, same ? 64 : 256), width = std::min(cols, std::max<int64_t>(16, kBlock / height));
  const int64_t down = (rows + height - 1) / height, across = (cols + width - 1) / width;
  ParallelFor(threads, batch * down * across, std::max<int64_t>(1, (1 << 14) / (height * width)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t image = i / (down * across) * rows * cols, r = i / across % down * height, c = i % across * width;
      const Rect block{r, std::min(rows, r + height), c, std::min(cols, c + width)};
      if (same) {
        Transpose16Rect(static_cast<const uint16_t*>(in) + image, rows, cols, block, static_cast<uint16_t*>(out) + image);
      } else {
        TransposeBlock(in, from, out, to, rows, cols, block, image);
      }
    }
  });
}

void TransposeBytes(int threads, int64_t batch, int64_t rows, int64_t cols, const void* in, void* out) {
  const auto* from = static_cast<const uint8_t*>(in);
  auto* to = static_cast<uint8_t*>(out);
  if (batch * rows * cols == 0) return;
  if (rows == 1 || cols == 1) {
    std::memcpy(to, from, static_cast<size_t>(batch * rows * cols));
    return;
  }
  constexpr int64_t kStrip = 64;
  const bool by_cols = cols >= rows;
  const int64_t side = by_cols ? cols : rows, strips = (side + kStrip - 1) / kStrip;
  ParallelFor(threads, batch * strips, std::max<int64_t>(1, (1 << 15) / (kStrip * (by_cols ? rows : cols))),
              [&](int64_t first, int64_t last) {
                for (int64_t s = first; s < last; ++s) {
                  const int64_t image = s / strips * rows * cols, at = s % strips * kStrip, end = std::min(side, at + kStrip);
                  TransposeByteRect(from + image, rows, cols, by_cols ? Rect{0, rows, at, end} : Rect{at, end, 0, cols}, to + image);
                }
              });
}

void ConvertByteLayout(int threads, const Dims& dims, Layout from, Layout to, const void* in, void* out) {
  const int64_t c = dims[1], hw = Positions(dims);
  if (from == to) {
    TransposeBytes(threads, 1, 1, dims[0] * c * hw, in, out);
  } else if (to == Layout::kChannelsLast) {
    TransposeBytes(threads, dims[0], c, hw, in, out);
  } else {
    TransposeBytes(threads, dims[0], hw, c, in, out);
  }
}

void ConvertTensor(int threads, const TensorDesc& from, const TensorDesc& to, const void* in, void* out) {
  if (SizeOf(from.storage()) == 1) return ConvertByteLayout(threads, from.dims, from.layout, to.layout, in, out);
  const int64_t n = from.dims[0], c = from.dims[1], hw = Positions(from.dims);
  if (from.layout == to.layout) return ConvertStored(in, from.storage(), out, to.storage(), n * c * hw, threads);
  const bool last = to.layout == Layout::kChannelsLast;
  TransposeStored(threads, n, last ? c : hw, last ? hw : c, in, from.storage(), out, to.storage());
}

void Transpose2D(int threads, int64_t batch, int64_t rows, int64_t cols, const float* in, float* out) {
  Transpose(threads, batch, rows, cols, in, out, nullptr);
}

std::vector<int64_t> MemoryOrder(const TensorDesc& t) {
  std::vector<int64_t> order(t.dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (t.layout == Layout::kChannelsLast) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<int64_t> DimsInMemory(const TensorDesc& t) {
  std::vector<int64_t> dims;
  for (int64_t d : MemoryOrder(t)) dims.push_back(t.dims[d]);
  return dims;
}

int64_t AxisInMemory(const TensorDesc& t, int64_t axis) {
  const std::vector<int64_t> order = MemoryOrder(t);
  return std::find(order.begin(), order.end(), axis) - order.begin();
}

std::vector<int64_t> StridesOf(const TensorDesc& t) {
  const std::vector<int64_t> order = MemoryOrder(t);
  std::vector<int64_t> strides(order.size(), 1);
  int64_t size = 1;
  for (size_t i = order.size(); i-- > 0; size *= t.dims[order[i]]) strides[order[i]] = size;
  return strides;
}

void ConvertLayout(int threads, const Dims& dims, Layout from, Layout to, const float* in, float* out, DType type) {
  const RoundFn round = RoundingTo(type);
  const int64_t c = dims[1], hw = Positions(dims);
  if (from == to) {
    Transpose(threads, 1, 1, dims[0] * c * hw, in, out, round);
  } else if (to == Layout::kChannelsLast) {
    Transpose(threads, dims[0], c, hw, in, out, round);
  } else {
    Transpose(threads, dims[0], hw, c, in, out, round);
  }
}

}  // namespace ampc
