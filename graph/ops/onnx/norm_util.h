// Normalisations for the records that are made of them.
#pragma once

#include <cstdint>

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// The results of a normalisation; null for those that were not asked for. `mean` and `inverse` (one by the standard deviation) are in fp32,
// or f64 of f64.
struct Normalized {
  Var* y = nullptr;
  Var* mean = nullptr;
  Var* inverse = nullptr;
};

// `x` over its dims from `axis` on, times `scale`, plus `bias` (null for none); y has the type of `x`. O(1) ops.
Normalized LayerNormalized(Lowering& l, Var* x, Var* scale, Var* bias, int64_t axis, double epsilon, bool statistics);
// The same by the root of the mean of squares; y has the type of `scale`.
Normalized RmsNormalized(Lowering& l, Var* x, Var* scale, int64_t axis, double epsilon);

}  // namespace ampc::onnx
