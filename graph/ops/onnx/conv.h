// Convolution for the records whose arithmetic is made of it.
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// `x` convolved with `filter`, plus `bias` (null for none), by the attributes of the op: auto_pad, dilations, group, kernel_shape, pads,
// strides.
Var* Convolved(Lowering& l, Var* x, Var* filter, Var* bias);

}  // namespace ampc::onnx
