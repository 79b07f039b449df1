// Matrix products for the records that are made of them.
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// alpha * A * B + beta * C, by the operands and attributes that Gemm has.
Var* GemmProduct(Lowering& l);

}  // namespace ampc::onnx
