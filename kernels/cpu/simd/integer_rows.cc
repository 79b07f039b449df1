#include "kernels/cpu/simd/integer_rows.h"

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/integer_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kVectors = 2;

// kRows rows by kVectors vectors of columns: their sums stay in registers.
template <int kRows, class D>
HWY_INLINE void IntegerTile(D d, const IntegerRows& a, const int32_t* b, int64_t k, int64_t n, int32_t* out) {
  const int64_t width = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i, b += n) {
    hn::Vec<D> factors[kVectors];
    for (int v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(d, b + v * width);
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a.data[r * a.row_step + i * a.column_step]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Add(sum[r][v], hn::Mul(x, factors[v]));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, out + r * n + v * width);
  }
}

// The columns of all rows that kVectors vectors of `d` hold: what is read of b stays in the first-level cache.
template <class D>
HWY_INLINE void IntegerColumns(D d, IntegerRows a, int64_t rows, const int32_t* b, int64_t k, int64_t n, int32_t* out) {
  for (; rows >= 4; rows -= 4, a.data += 4 * a.row_step, out += 4 * n) IntegerTile<4>(d, a, b, k, n, out);
  for (; rows > 0; --rows, a.data += a.row_step, out += n) IntegerTile<1>(d, a, b, k, n, out);
}

void MultiplyIntegerRows(const IntegerRows& a, int64_t rows, const int32_t* b, int64_t k, int64_t n, int32_t* out) {
  int64_t c = 0;
  const auto with = [&](auto d) {
    const int64_t columns = kVectors * static_cast<int64_t>(hn::Lanes(d));
    for (; c + columns <= n; c += columns) IntegerColumns(d, a, rows, b + c, k, n, out + c);
  };
  with(hn::CappedTag<int32_t, 16>());
  with(hn::CappedTag<int32_t, 4>());
  for (; c < n; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += static_cast<uint32_t>(a.data[r * a.row_step + i * a.column_step]) * static_cast<uint32_t>(b[i * n + c]);
      out[r * n + c] = static_cast<int32_t>(sum);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(MultiplyIntegerRows);

void MultiplyIntegers(const IntegerRows& a, int64_t rows, const int32_t* b, int64_t k, int64_t n, int32_t* out) {
  HWY_DYNAMIC_DISPATCH(MultiplyIntegerRows)(a, rows, b, k, n, out);
}

}  // namespace ampc::simd
#endif
