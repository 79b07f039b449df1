// Quantised values for the records that compute with them.
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// Integers of 8 or 16 bits that stand for (x - zero_point) * scale; a null zero point is 0.
struct Quantized {
  Var* x;
  Var* scale;
  Var* zero_point;
};

// Operands by their formal names; the zero point may be left out.
Quantized QuantizedOperand(Lowering& l, const char* x, const char* scale, const char* zero_point);
// (x - zero_point) as i32.
Var* Centered(Lowering& l, Var* x, Var* zero_point);
// The numbers that `q` stands for, in fp32; scale and zero point broadcast.
Var* Dequantized(Lowering& l, const Quantized& q);
// That, and the inverse, in one op, where the target has it and scale and zero point are one number each, or one for each index along
// `axis`; else null.
Var* DequantizedByOp(Lowering& l, const Quantized& q, int64_t axis);
Var* QuantizedByOp(Lowering& l, Var* x, Var* scale, Var* zero_point, int64_t axis, DType to);
// Their matrix product in fp32, where the target has a product of integers for it; else null.
Var* ProductByOp(Lowering& l, const Quantized& a, const Quantized& b);
// `x` (fp32), rounded to the nearest even, moved by the zero point, in the range of `to`.
Var* Saturated(Lowering& l, Var* x, Var* zero_point, DType to);
// The same of x / scale.
Var* Requantized(Lowering& l, Var* x, Var* scale, Var* zero_point, DType to);
// `x` as u8 over its own range, which has 0 in it.
Quantized DynamicallyQuantized(Lowering& l, Var* x);
// The matrix product of what both stand for: integers are summed exactly, in i32. fp32.
Var* DequantizedProduct(Lowering& l, const Quantized& a, const Quantized& b);

}  // namespace ampc::onnx
