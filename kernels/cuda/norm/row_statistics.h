// Common parts of rows of normalisations, in device code.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/launch/kept_row.h"

namespace ampc::cuda {

// w numbers of an operand; `absent` where it has none.
template <int w>
AMPC_DEVICE Values<float, w> GetFloats(const AnyInput& in, int64_t i, float absent) {
  Values<float, w> values;
  const auto get = [&](const auto* from) {
    for (int k = 0; k < w; ++k) values.v[k] = static_cast<float>(Load(from[i + k]));
  };
  if (in.data == nullptr) {
    for (int k = 0; k < w; ++k) values.v[k] = absent;
  } else if (in.dtype == DType::kF16) {
    get(static_cast<const Half*>(in.data));
  } else if (in.dtype == DType::kBF16) {
    get(static_cast<const BFloat16*>(in.data));
  } else if (in.dtype == DType::kF64) {
    get(static_cast<const double*>(in.data));
  } else {
    get(static_cast<const float*>(in.data));
  }
  return values;
}

struct Statistics {
  float mean;
  double variance;
};

// Of a row, which is read for the first time: the sum, then the squares about the mean; in double over packs of float32.
template <class T, class Team>
AMPC_DEVICE Statistics StatisticsOf(Team& team, const KeptRow<T>& x, int64_t n, bool packs) {
  const double sum = ReduceRow<T>(
      team, n, packs, 0.0,
      [&](int64_t i, auto width) {
        const auto v = x.First(i, width);
        float part = 0;
        for (int k = 0; k < width.value; ++k) part += v.v[k];
        return static_cast<double>(part);
      },
      Plus());
  const float mean = static_cast<float>(sum / static_cast<double>(n));
  const double squares = ReduceRow<T>(
      team, n, packs, 0.0,
      [&](int64_t i, auto width) {
        const auto v = x.Again(i, width);
        float part = 0;
        for (int k = 0; k < width.value; ++k) part += (v.v[k] - mean) * (v.v[k] - mean);
        return static_cast<double>(part);
      },
      Plus());
  return {mean, squares / static_cast<double>(n)};
}

struct Sums {
  double g, gx;  // of g, and of g * (x - mean)
};
struct JoinSums {
  AMPC_DEVICE Sums operator()(Sums a, Sums b) const { return {a.g + b.g, a.gx + b.gx}; }
};
struct FloatSums {
  float g, gx;
};

// f32 and halves, whose arithmetic is in float.
template <class F>
int VisitNarrow(DType dtype, F f) {
  return dtype == DType::kF16 ? f(TypeTag<Half>()) : dtype == DType::kBF16 ? f(TypeTag<BFloat16>()) : f(TypeTag<float>());
}

}  // namespace ampc::cuda
