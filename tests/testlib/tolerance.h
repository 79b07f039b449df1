// The one table of tolerances: how far a kernel's result may lie from the plain CPU kernel in f32.
#pragma once

#include <cmath>

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

}  // namespace ampc::testing
