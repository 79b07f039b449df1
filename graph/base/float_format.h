// The layout of float types.
#pragma once

#include "graph/base/dtype.h"

namespace ampc {

struct FloatFormat {
  int mantissa_bits = 0;
  int least_exponent = 0;  // of a normal value
};

// `type` is f16, bf16, f32 or f64; that of f32 for any other type.
constexpr FloatFormat FloatFormatOf(DType type) {
  switch (type) {
    case DType::kF16: return {10, -14};
    case DType::kBF16: return {7, -126};
    case DType::kF64: return {52, -1022};
    default: return {23, -126};
  }
}

}  // namespace ampc
