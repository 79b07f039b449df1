// PartialDifference: what of a difference adds up over parts of two tensors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "graph/base/float_format.h"

namespace ampc {

// The spacing of a type's values is 2^(exponent - mantissa), of small ones that of the least normal.
struct Spacing {
  explicit Spacing(DType type) : format(FloatFormatOf(type)) {}
  double Of(double difference, double at) const {
    const int exponent = std::max(static_cast<int>(std::bit_cast<uint64_t>(at) >> 52) - 1023, format.least_exponent);
    const int scale = format.mantissa_bits - exponent;
    if (scale > 1023) return std::ldexp(difference, scale);
    return difference * std::bit_cast<double>(static_cast<uint64_t>(scale + 1023) << 52);
  }
  FloatFormat format;
};

struct PartialDifference {
  double max_abs = 0, max_ulp = 0, largest_a = 0, largest_b = 0, dot = 0, aa = 0, bb = 0, sum = 0;
  int64_t finite = 0, mismatched = 0, both = 0;

  void Add(double x, double y, const Spacing& spacing) {
    if (!std::isfinite(x) || !std::isfinite(y)) {
      ((std::isnan(x) && std::isnan(y)) || x == y ? both : mismatched) += 1;
      return;
    }
    ++finite;
    const double ax = std::abs(x), ay = std::abs(y), difference = std::abs(x - y);
    largest_a = std::max(largest_a, ax);
    largest_b = std::max(largest_b, ay);
    dot += x * y;
    aa += x * x;
    bb += y * y;
    if (difference == 0) return;
    sum += difference;
    max_abs = std::max(max_abs, difference);
    max_ulp = std::max(max_ulp, spacing.Of(difference, std::max(ax, ay)));
  }
};

// Of `n` floats, by vectors.
PartialDifference DifferenceOfPart(const float* a, const float* b, int64_t n, const Spacing& spacing);

}  // namespace ampc
