// Pooling for the records that are made of it.
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// The means of windows of `x`, by the attributes of AveragePool.
Var* AveragePooled(Lowering& l, Var* x);

}  // namespace ampc::onnx
