#include "kernels/cpu/simd/blend.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/blend.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

// kCount: number of rows; 0: `count`. No product is joined with a sum, so that every CPU rounds alike.
template <int kCount>
void BlendRowsOf(const float* const* rows, const float* weight, int count, float* out, int64_t n) {
  const int rest = kCount > 0 ? kCount : count;
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 sum = load(rows[0] + i) * hn::Set(kTag, weight[0]);
    for (int r = 1; r < rest; ++r) sum = sum + load(rows[r] + i) * hn::Set(kTag, weight[r]);
    store(sum, out + i);
  });
}

void BlendRowsLoop(const float* const* rows, const float* weight, int count, float* out, int64_t n) {
  count == 2 ? BlendRowsOf<2>(rows, weight, count, out, n) : BlendRowsOf<0>(rows, weight, count, out, n);
}

// Pixels of one channel, a vector of them at a time.
template <int kTaps>
void BlendNumbers(const float* row, const PixelBlend& b, float* out) {
  const hn::RebindToSigned<D16> indexes;
  int64_t x = 0;
  for (; x + kWidth <= b.width; x += kWidth) {
    V16 sum = hn::Zero(kTag);
    for (int k = 0; k < kTaps; ++k) {
      const int64_t i = k * b.width + x;
      const V16 part = hn::GatherIndex(kTag, row, hn::LoadU(indexes, b.at + i)) * hn::LoadU(kTag, b.weight + i);
      sum = k == 0 ? part : sum + part;
    }
    hn::StoreU(sum, kTag, out + x);
  }
  for (; x < b.width; ++x) {
    float sum = row[b.at[x]] * b.weight[x];
    for (int k = 1; k < kTaps; ++k) sum += row[b.at[k * b.width + x]] * b.weight[k * b.width + x];
    out[x] = sum;
  }
}

template <int kTaps>
void BlendPixelsOf(const float* row, const PixelBlend& b, int64_t channels, float* out) {
  if (channels == 1) return BlendNumbers<kTaps>(row, b, out);
  for (int64_t x = 0; x < b.width; ++x, out += channels) {
    const float* from[kTaps];
    V16 weight[kTaps];
    for (int k = 0; k < kTaps; ++k) {
      from[k] = row + b.at[k * b.width + x] * channels;
      weight[k] = hn::Set(kTag, b.weight[k * b.width + x]);
    }
    ForEachVector(channels, [&](int64_t c, auto load, auto store) {
      V16 sum = load(from[0] + c) * weight[0];
      for (int k = 1; k < kTaps; ++k) sum = sum + load(from[k] + c) * weight[k];
      store(sum, out + c);
    });
  }
}

void BlendPixelsLoop(const float* row, const PixelBlend& b, int64_t channels, float* out) {
  b.taps == 2 ? BlendPixelsOf<2>(row, b, channels, out) : BlendPixelsOf<4>(row, b, channels, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(BlendRowsLoop);
HWY_EXPORT(BlendPixelsLoop);

void BlendRows(const float* const* rows, const float* weight, int count, float* out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(BlendRowsLoop)(rows, weight, count, out, n);
}
void BlendPixels(const float* row, const PixelBlend& blend, int64_t channels, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendPixelsLoop)(row, blend, channels, out);
}

}  // namespace ampc::simd
#endif
