// Softmax for the records that are made of it.
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// exp(x) over its sum along `axis`; of every float type.
Var* SoftmaxAlong(Lowering& l, Var* x, int64_t axis);

}  // namespace ampc::onnx
