// lower-onnx: ops of the ONNX dialect become native ops, which is what kernels execute. First in a plan's pipeline; not for export.
//
//   y = onnx.Gemm.13(a, b, c) transB=1        ->      m = matmul_v2(a, b) trans_y=true
//                                                     y = elementwise_add(m, c)
//
// QuantizeLinear and DequantizeLinear become one op each with `quantized=scales`, which the CPU has; with `products`, products of 8-bit
// integers too, or products of what they stand for, which fuse-quantized takes in. On a device they are steps.
//
// Ops on small constants become constants on the way, so that shape arithmetic determines what comes behind it. An op whose lowering needs
// a shape or value that is not known stays; a program with such ops is lowered again when the feeds' shapes are known. Unsupported (exit 4)
// for an op that cannot be executed. O(program).
#pragma once

#include "absl/status/status.h"
#include "graph/program.h"
#include "passes/pass.h"

namespace ampc {

PassInfo LowerOnnxPass();

bool HasOnnxOps(const Program& program);
// The need of the first op that stayed, as a sentence; "" if none did.
std::string LeftUnlowered(const Program& program);

}  // namespace ampc
