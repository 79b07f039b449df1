// Vector loops between floats and the integers that stand for (x - zero point) * scale. No alignment is needed.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::simd {

// out[i] = x[i] / scale rounded to the nearest even integer, plus zero_point, at the nearest end of its type where it is outside; NaN is 0.
using QuantizeFn = void (*)(const float* x, float scale, int32_t zero_point, void* out, int64_t n);
// out[i] = (x[i] - zero_point) * scale.
using DequantizeFn = void (*)(const void* x, float scale, int32_t zero_point, float* out, int64_t n);

// How a row of sums of products becomes results: value = (sum - offset - zero * row) * scale + bias, in [low, high], NaN to NaN; then, for
// integers, as QuantizeFn of scale 1. Arrays have one number for each column.
struct SumColumns {
  const int32_t* offset = nullptr;  // null: nothing
  const int32_t* zero = nullptr;    // null: nothing
  const float* scale = nullptr;     // of i32 results not read
  const float* bias = nullptr;      // null: nothing
  float low = 0, high = 0;
  int32_t zero_point = 0;
};
using FinishSumsFn = void (*)(const int32_t* sums, int32_t row, const SumColumns& columns, void* out, int64_t n);

// u8, i8, f32, or i32, whose results are the sums without offset and zero * row; null for another type. `out` of 4 bytes may be `sums`.
FinishSumsFn FinishSums(DType to);

// The sum of u8 or i8 elements.
int32_t SumBytes(DType type, const void* x, int64_t n);

// The loops for this CPU; null for a type that is none of u8, i8, u16 and i16, and i32 for Dequantize.
QuantizeFn Quantize(DType to);
DequantizeFn Dequantize(DType from);

}  // namespace ampc::simd
