// The one table of tolerances of single ops: how far a kernel's result may lie from the plain CPU kernel in f32. Those of whole models:
// model_tolerance.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "graph/base/dtype.h"

namespace ampc::testing {

struct Tolerance {
  double rel = 0, abs = 0;
};

// Of a single op, by the type it computes in: two roundings of the type and what a different order of summation adds.
constexpr Tolerance ToleranceFor(DType dtype) {
  switch (dtype) {
    case DType::kF16: return {2e-3, 1e-3};
    case DType::kBF16: return {1.6e-2, 8e-3};
    case DType::kF32: return {1e-5, 1e-6};
    case DType::kF64: return {1e-12, 1e-14};
    default: return {0, 0};  // integers and bool are exact
  }
}

// Equal, both NaN, or |found - needed| <= abs + rel * |needed|.
inline bool Near(double found, double needed, Tolerance tolerance) {
  if (found == needed || (std::isnan(found) && std::isnan(needed))) return true;
  return std::abs(found - needed) <= tolerance.abs + tolerance.rel * std::abs(needed);
}

// Of the ONNX standard's own backend tests, for floats of any type.
inline constexpr Tolerance kConformanceTolerance = {1e-3, 1e-7};

// How far a float32 result of an elementary function may lie from the exact value: `ulps` units in the last place of the exact value
// (of the subnormals below 2^-126) plus `abs`, which matters where a small result comes from larger numbers: a difference, or an
// exponential of a rounded product.
struct FunctionTolerance {
  double ulps = 0, abs = 0;
};

constexpr FunctionTolerance FunctionToleranceFor(std::string_view op) {
  if (op == "exp" || op == "log" || op == "pow") return {1, 0};
  if (op == "rsqrt") return {1.5, 0};
  if (op == "acos" || op == "acosh" || op == "asin" || op == "asinh" || op == "atan" || op == "atanh" || op == "cos" || op == "cosh" ||
      op == "log10" || op == "log2" || op == "sin" || op == "sinh" || op == "tan") {
    return {2, 0};  // the C library
  }
  if (op == "expm1" || op == "softsign") return {1.5, 0};
  if (op == "log1p" || op == "elu") return {2.5, 0};
  if (op == "celu" || op == "selu") return {3.5, 0};
  if (op == "stanh") return {4, 0};
  if (op == "softplus" || op == "logsigmoid") return {4, 0};
  if (op == "mish") return {6, 0x1p-120};
  if (op == "tanh_shrink") return {2, 0x1p-23};
  if (op == "tanh" || op == "erf" || op == "hard_swish") return {2, 0};
  if (op == "sigmoid") return {2.5, 0};
  if (op == "swish" || op == "silu") return {3.5, 0x1p-24};
  if (op == "gelu") return {6, 0x1p-120};
  if (op == "gelu_tanh") return {4, 0x1p-23};
  if (op == "hard_sigmoid") return {1, 0x1p-24};
  return {0.5, 0};  // correctly rounded
}

// Both NaN, equal, or within the tolerance.
inline bool WithinUlps(float found, double needed, FunctionTolerance tolerance) {
  const float rounded = static_cast<float>(needed);
  if (found == rounded || (std::isnan(found) && std::isnan(rounded))) return true;
  if (!std::isfinite(found) || !std::isfinite(rounded)) return false;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(needed), -126) - 23);
  return std::abs(found - needed) <= tolerance.ulps * unit + tolerance.abs;
}

// Ops whose results add up terms that may cancel: an error is measured on the largest result.
constexpr bool SumsTerms(std::string_view op) {
  for (std::string_view part :
       {"conv", "matmul", "norm", "interp", "reduce_sum", "reduce_mean", "cumsum", "pool", "roi_align", "grid_sampler"}) {
    if (op.find(part) != std::string_view::npos) return true;
  }
  return op == "mul" || op == "fc" || op == "bmm" || op == "addmm" || op == "rnn" || op == "einsum" || op == "sum" || op == "mean";
}

// Of a golden case of one op (tests/golden/ops): against another implementation of the same function. `largest`: of the finite results.
constexpr Tolerance GoldenToleranceFor(std::string_view op, DType dtype, double largest) {
  const Tolerance t = ToleranceFor(dtype);
  return SumsTerms(op) ? Tolerance{t.rel, std::max(t.abs, t.rel * largest)} : t;
}

// How far a gradient may lie from a difference quotient, over the largest gradient of the same operand. The quotient subtracts fp32 results
// over a step of 2^-5, which leaves 2^-18 of a result's size: a few parts in a million where results are of the size of their gradients.
//   "linear"  nothing but that: moves, sums, products with something fixed
//   "smooth"  and the fifth derivative times step^4 / 5, a few 1e-5 for functions that bend on the scale of 1
//   "steep"   functions that bend within a few steps, results much larger than gradients: long products, divisions by small numbers
constexpr Tolerance GradientToleranceFor(std::string_view kind) {
  if (kind == "linear") return {2e-5, 1e-6};
  if (kind == "smooth") return {2e-4, 1e-5};
  if (kind == "steep") return {2e-3, 1e-5};
  return {-1, -1};  // no such kind: nothing passes
}

// The op declared f16 or bf16 gives exactly its fp32 result on the same operands, rounded once. False where products use the CPU's native
// bf16 instructions, which add up in another order.
constexpr bool RoundsFp32Exactly(std::string_view op, DType low) {
  const bool product = op.find("conv") != std::string_view::npos || op.find("matmul") != std::string_view::npos || op == "mul" ||
                       op == "fc" || op == "bmm" || op == "addmm" || op == "rnn" || op == "einsum";
  return low != DType::kBF16 || !product;
}

}  // namespace ampc::testing
