// LibraryMath<D>: the functions of SimdMath that call the C library for each element. Compiled once per instruction set.
#include <cmath>

#if defined(KERNELS_CPU_SIMD_LIBRARY_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_CPU_SIMD_LIBRARY_MATH_INL_H_
#undef KERNELS_CPU_SIMD_LIBRARY_MATH_INL_H_
#else
#define KERNELS_CPU_SIMD_LIBRARY_MATH_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ampc::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct LibraryMath {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  D d;

  // f of each element.
  template <class F>
  HWY_INLINE V Each(V x, F f) const {
    HWY_ALIGN T xs[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(x, d, xs);
    for (size_t i = 0; i < hn::Lanes(d); ++i) xs[i] = f(xs[i]);
    return hn::Load(d, xs);
  }
  // clang-format off
  HWY_INLINE V Log2(V x) const { return Each(x, [](T v) { return std::log2(v); }); }
  HWY_INLINE V Log10(V x) const { return Each(x, [](T v) { return std::log10(v); }); }
  HWY_INLINE V Sin(V x) const { return Each(x, [](T v) { return std::sin(v); }); }
  HWY_INLINE V Cos(V x) const { return Each(x, [](T v) { return std::cos(v); }); }
  HWY_INLINE V Tan(V x) const { return Each(x, [](T v) { return std::tan(v); }); }
  HWY_INLINE V Asin(V x) const { return Each(x, [](T v) { return std::asin(v); }); }
  HWY_INLINE V Acos(V x) const { return Each(x, [](T v) { return std::acos(v); }); }
  HWY_INLINE V Atan(V x) const { return Each(x, [](T v) { return std::atan(v); }); }
  HWY_INLINE V Sinh(V x) const { return Each(x, [](T v) { return std::sinh(v); }); }
  HWY_INLINE V Cosh(V x) const { return Each(x, [](T v) { return std::cosh(v); }); }
  HWY_INLINE V Asinh(V x) const { return Each(x, [](T v) { return std::asinh(v); }); }
  HWY_INLINE V Acosh(V x) const { return Each(x, [](T v) { return std::acosh(v); }); }
  HWY_INLINE V Atanh(V x) const { return Each(x, [](T v) { return std::atanh(v); }); }
  // clang-format on

  HWY_INLINE V Pow(V x, V y) const {
    constexpr size_t kMax = HWY_MAX_BYTES / sizeof(T);
    HWY_ALIGN T xs[kMax];
    HWY_ALIGN T ys[kMax];
    hn::Store(x, d, xs);
    hn::Store(y, d, ys);
    for (size_t i = 0; i < hn::Lanes(d); ++i) xs[i] = std::pow(xs[i], ys[i]);
    return hn::Load(d, xs);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace ampc::simd
HWY_AFTER_NAMESPACE();
#endif
