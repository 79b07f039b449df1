// ONNX's numbers of element types (TensorProto.DataType).
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::onnx {

DType DTypeOfNumber(int64_t number);   // kInvalid for a type that is not ours
int32_t NumberOfDType(DType dtype);    // 0 for kInvalid

}  // namespace ampc::onnx
