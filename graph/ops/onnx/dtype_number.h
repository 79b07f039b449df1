// ONNX's numbers of element types (TensorProto.DataType).
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc::onnx {

DType DTypeOfNumber(int64_t number);              // kInvalid for a type that is not ours
int32_t NumberOfDType(DType dtype);               // 0 for kInvalid
DType DTypeOfEnumerator(absl::string_view name);  // "FLOAT", as Cast wrote it before operator set 6; kInvalid as above
absl::string_view EnumeratorOfDType(DType dtype);

}  // namespace ampc::onnx
