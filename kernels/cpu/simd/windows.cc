#include "kernels/cpu/simd/windows.h"

#include <type_traits>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd/windows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/cpu/simd/math-inl.h"
#include "kernels/cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

// A window whose size is known here, so that nothing is counted.
template <int kRows, int kCols, typename T>
void FixedWindowMax(const Window<T>& w, float* out, int64_t n) {
  const SimdMath<D16> m{};
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 max = load(w.at + i);
    for (int k = 1; k < kRows * kCols; ++k) max = Max::Apply(m, load(w.at + k / kCols * w.row_stride + k % kCols * w.col_stride + i), max);
    store(max, out + i);
  });
}

// fixed(a, b) with the rows and columns of a common window as types; false for another.
template <typename T, typename F>
bool WithFixedSize(const Window<T>& w, F fixed) {
  const auto fits = [&](auto rows, auto cols) {
    if (w.rows != rows() || w.cols != cols()) return false;
    fixed(rows, cols);
    return true;
  };
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 3> three;
  return fits(three, one) || fits(one, three) || fits(two, one) || fits(one, two) || fits(three, three) || fits(two, two);
}

template <typename T>
void WindowMaxLoop(const Window<T>& w, float* out, int64_t n) {
  if (WithFixedSize(w, [&](auto rows, auto cols) { FixedWindowMax<rows(), cols()>(w, out, n); })) return;
  const SimdMath<D16> m{};
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 max = load(w.at + i);
    for (int64_t r = 0; r < w.rows; ++r) {
      const T* at = w.at + r * w.row_stride + i;
      for (int64_t c = 0; c < w.cols; ++c, at += w.col_stride) max = Max::Apply(m, load(at), max);
    }
    store(max, out + i);
  });
}

// As WindowSumLoop adds.
template <int kRows, int kCols, typename T>
void FixedWindowSum(const Window<T>& w, float factor, float* out, int64_t n) {
  const V16 f = hn::Set(kTag, factor), zero = hn::Zero(kTag);
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 total = zero;
    for (int r = 0; r < kRows; ++r) {
      V16 sum = zero;
      for (int c = 0; c < kCols; ++c) sum = sum + load(w.at + r * w.row_stride + c * w.col_stride + i);
      total = total + sum;
    }
    store(total * f, out + i);
  });
}

template <typename T>
void WindowSumLoop(const Window<T>& w, float factor, float* out, int64_t n) {
  if (WithFixedSize(w, [&](auto rows, auto cols) { FixedWindowSum<rows(), cols()>(w, factor, out, n); })) return;
  const V16 f = hn::Set(kTag, factor);
  ForEachVector(n, [&](int64_t i, auto load, auto store) {
    V16 total = hn::Zero(kTag);
    for (int64_t r = 0; r < w.rows; ++r) {
      const T* at = w.at + r * w.row_stride + i;
      V16 sum = hn::Zero(kTag);
      for (int64_t c = 0; c < w.cols; ++c, at += w.col_stride) sum = sum + load(at);
      total = total + sum;
    }
    store(total * f, out + i);
  });
}

// The sizes of a WindowRow that are known here; 0: not known.
template <int kLines, int kCols, int kStep>
struct RowSizes {
  static constexpr int lines = kLines, cols = kCols, step = kStep;
};

// Reduces a channel's vector of each window: column(k) of the columns that no window before has, then store(i, all) of those of window i,
// joined from the left. Without sizes a column is read for each window that has it.
template <class Sizes, typename T, class Column, class Join, class Store>
HWY_INLINE void SlideWindows(const WindowRow<T>& w, Column column, Join join, Store store) {
  if constexpr (Sizes::cols == 0) {
    for (int64_t i = 0; i < w.windows; ++i) {
      V16 all = column(i * w.step);
      for (int64_t k = 1; k < w.cols; ++k) all = join(column(i * w.step + k), all);
      store(i, all);
    }
  } else {
    constexpr int kKept = Sizes::cols - Sizes::step;
    V16 c[Sizes::cols];
    for (int k = 0; k < kKept; ++k) c[k] = column(k);
    for (int64_t i = 0; i < w.windows; ++i) {
      for (int k = kKept; k < Sizes::cols; ++k) c[k] = column(i * Sizes::step + k);
      V16 all = c[0];
      for (int k = 1; k < Sizes::cols; ++k) all = join(c[k], all);
      store(i, all);
      for (int k = 0; k < kKept; ++k) c[k] = c[k + Sizes::step];
    }
  }
}

// A maximum of the instruction set may lose NaN. It shows in the sum of all elements, as infinities of both signs do; then a slower one is
// asked.
template <class Sizes, typename T>
void WindowRowMaxLoop(const WindowRow<T>& w, float* out) {
  const int64_t count = Sizes::lines == 0 ? w.count : Sizes::lines;
  ForEachVector(w.n, [&](int64_t i, auto load, auto store) {
    V16 total = hn::Zero(kTag);
    const auto keep = [&](int64_t window, V16 all) { store(all, out + window * w.n + i); };
    SlideWindows<Sizes>(
        w,
        [&](int64_t column) {
          const int64_t at = column * w.n + i;
          V16 max = load(w.lines[0] + at), sum = max;
          for (int64_t l = 1; l < count; ++l) {
            const V16 v = load(w.lines[l] + at);
            max = hn::Max(v, max);
            sum = sum + v;
          }
          total = total + sum;
          return max;
        },
        [](V16 v, V16 max) { return hn::Max(v, max); }, keep);
    if (hn::AllFalse(kTag, hn::IsNaN(total))) return;
    const SimdMath<D16> m{};
    const auto larger = [&](V16 v, V16 max) { return Max::Apply(m, v, max); };
    SlideWindows<Sizes>(
        w,
        [&](int64_t column) {
          const int64_t at = column * w.n + i;
          V16 max = load(w.lines[0] + at);
          for (int64_t l = 1; l < count; ++l) max = larger(load(w.lines[l] + at), max);
          return max;
        },
        larger, keep);
  });
}

template <class Sizes, typename T>
void WindowRowSumLoop(const WindowRow<T>& w, float factor, float* out) {
  const int64_t count = Sizes::lines == 0 ? w.count : Sizes::lines;
  const V16 f = hn::Set(kTag, factor);
  ForEachVector(w.n, [&](int64_t i, auto load, auto store) {
    SlideWindows<Sizes>(
        w,
        [&](int64_t column) {
          const int64_t at = column * w.n + i;
          V16 sum = load(w.lines[0] + at);
          for (int64_t l = 1; l < count; ++l) sum = sum + load(w.lines[l] + at);
          return sum;
        },
        [](V16 v, V16 sum) { return sum + v; }, [&](int64_t window, V16 all) { store(all * f, out + window * w.n + i); });
  });
}

// run(sizes) with the sizes of common windows.
template <typename T, class F>
void WithRowSizes(const WindowRow<T>& w, F run) {
  if (w.count == 3 && w.cols == 3 && w.step == 1) return run(RowSizes<3, 3, 1>());
  if (w.count == 3 && w.cols == 3 && w.step == 2) return run(RowSizes<3, 3, 2>());
  if (w.count == 2 && w.cols == 2 && w.step == 2) return run(RowSizes<2, 2, 2>());
  if (w.cols == 3 && w.step == 1) return run(RowSizes<0, 3, 1>());
  if (w.cols == 3 && w.step == 2) return run(RowSizes<0, 3, 2>());
  run(RowSizes<0, 0, 0>());
}

template <typename T>
void AnyRowMax(const WindowRow<T>& w, float* out) {
  WithRowSizes(w, [&](auto sizes) { WindowRowMaxLoop<decltype(sizes)>(w, out); });
}
template <typename T>
void AnyRowSum(const WindowRow<T>& w, float factor, float* out) {
  WithRowSizes(w, [&](auto sizes) { WindowRowSumLoop<decltype(sizes)>(w, factor, out); });
}

void WindowRowMaxFloat(const WindowRow<float>& w, float* out) { AnyRowMax(w, out); }
void WindowRowMaxHalf(const WindowRow<uint16_t>& w, float* out) { AnyRowMax(w, out); }
void WindowRowSumFloat(const WindowRow<float>& w, float factor, float* out) { AnyRowSum(w, factor, out); }
void WindowRowSumHalf(const WindowRow<uint16_t>& w, float factor, float* out) { AnyRowSum(w, factor, out); }

void WindowMaxFloat(const Window<float>& w, float* out, int64_t n) { WindowMaxLoop(w, out, n); }
void WindowMaxHalf(const Window<uint16_t>& w, float* out, int64_t n) { WindowMaxLoop(w, out, n); }
void WindowSumFloat(const Window<float>& w, float factor, float* out, int64_t n) { WindowSumLoop(w, factor, out, n); }
void WindowSumHalf(const Window<uint16_t>& w, float factor, float* out, int64_t n) { WindowSumLoop(w, factor, out, n); }

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ampc::simd {

HWY_EXPORT(WindowMaxFloat);
HWY_EXPORT(WindowMaxHalf);
HWY_EXPORT(WindowSumFloat);
HWY_EXPORT(WindowSumHalf);
HWY_EXPORT(WindowRowMaxFloat);
HWY_EXPORT(WindowRowMaxHalf);
HWY_EXPORT(WindowRowSumFloat);
HWY_EXPORT(WindowRowSumHalf);

void WindowMax(const Window<float>& w, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(WindowMaxFloat)(w, out, n); }
void WindowMax(const Window<uint16_t>& w, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(WindowMaxHalf)(w, out, n); }
void WindowSum(const Window<float>& w, float factor, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(WindowSumFloat)(w, factor, out, n); }
void WindowSum(const Window<uint16_t>& w, float factor, float* out, int64_t n) { HWY_DYNAMIC_DISPATCH(WindowSumHalf)(w, factor, out, n); }

void WindowRowMax(const WindowRow<float>& w, float* out) { HWY_DYNAMIC_DISPATCH(WindowRowMaxFloat)(w, out); }
void WindowRowMax(const WindowRow<uint16_t>& w, float* out) { HWY_DYNAMIC_DISPATCH(WindowRowMaxHalf)(w, out); }
void WindowRowSum(const WindowRow<float>& w, float factor, float* out) { HWY_DYNAMIC_DISPATCH(WindowRowSumFloat)(w, factor, out); }
void WindowRowSum(const WindowRow<uint16_t>& w, float factor, float* out) { HWY_DYNAMIC_DISPATCH(WindowRowSumHalf)(w, factor, out); }

}  // namespace ampc::simd
#endif
