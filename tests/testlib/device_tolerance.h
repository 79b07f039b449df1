// The part of the table of tolerances (tolerance.h) that is about a device's kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "graph/base/dtype.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {

// How far a device's kernel may lie from the CPU's on the same operands: units in the last place of the declared type of the result, plus a
// part of the largest result, which a different order of summation moves.
//   exact            moves, casts, + - * / sqrt, min, max, comparisons: 0 ulps
//   transcendental   of halves 1 ulp; of f32 the device's 4 and the CPU's own error
//   sums             one rounding to the declared type, and a few 2^-24 for each addition that the order changes
//   library's gelu   of halves, beside a product: its tanh is that of the hardware, 2^-11, which is 1e-3 of the function below 4 and 4e-3
//   of its slope
struct DeviceTolerance {
  double ulps = 0, of_largest = 0, absolute = 0;
};

// `op` computes gelu, or its gradient, beside a product.
inline DeviceTolerance WithLibraryGelu(DeviceTolerance t, DType declared, bool gradient) {
  if (!IsLowPrecision(declared)) return t;  // ours computes that
  (gradient ? t.of_largest : t.absolute) += gradient ? 4e-3 : 1e-3;
  return t;
}

inline DeviceTolerance DeviceToleranceFor(std::string_view op, DType declared) {
  if (!IsFloat(declared)) return {0, 0};
  const bool low = IsLowPrecision(declared);
  const double sum = declared == DType::kF64 ? 1e-14 : 1e-5;
  for (std::string_view part :
       {"softmax", "norm", "cross_entropy", "loss", "logsumexp", "reduce", "cum", "mean", "var", "std", "dist", "trace", "lamb"}) {
    if (op.find(part) != std::string_view::npos) return {1, sum};
  }
  if (SumsTerms(op) || op == "dot" || op == "mv" || op.starts_with("fused_gemm_epilogue")) return {1, sum};
  std::string_view forward = op;
  const bool gradient = op.ends_with("_grad");
  if (gradient) forward.remove_suffix(5);
  const FunctionTolerance cpu = FunctionToleranceFor(forward);
  if (gradient)
    return SumsTerms(forward) || forward.starts_with("elementwise") ? DeviceTolerance{1, sum}
                                                                    : DeviceTolerance{low ? 1.0 : 8.0, low ? 0 : sum};
  if (cpu.ulps <= 0.5) return {0, 0};
  return low ? DeviceTolerance{1, 0} : DeviceTolerance{4 + cpu.ulps, cpu.abs};
}

// Both NaN, equal (zeros of either sign), or within the tolerance; infinities agree.
inline bool WithinDeviceTolerance(double found, double needed, DType declared, double largest, DeviceTolerance tolerance) {
  if (found == needed || (std::isnan(found) && std::isnan(needed))) return true;
  if (!std::isfinite(found) || !std::isfinite(needed)) return false;
  const bool half = declared == DType::kF16, brain = declared == DType::kBF16, wide = declared == DType::kF64;
  const int digits = half ? 10 : brain ? 7 : wide ? 52 : 23, least = half ? -14 : wide ? -1022 : -126;
  const double unit = std::ldexp(1.0, std::max(needed == 0 ? least : std::ilogb(needed), least) - digits);
  return std::abs(found - needed) <= tolerance.ulps * unit + tolerance.of_largest * largest + tolerance.absolute;
}

}  // namespace ampc::testing
