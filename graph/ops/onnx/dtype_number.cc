#include "graph/ops/onnx/dtype_number.h"

#include <iterator>

namespace ampc::onnx {
namespace {

// By ONNX's number.
constexpr DType kTypes[] = {DType::kInvalid, DType::kF32,     DType::kU8,  DType::kI8,  DType::kInvalid, DType::kI16,     DType::kI32,  DType::kI64, DType::kInvalid,
                            DType::kBool,    DType::kF16,     DType::kF64, DType::kInvalid, DType::kInvalid, DType::kC64, DType::kC128, DType::kBF16};

}  // namespace

DType DTypeOfNumber(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(std::size(kTypes)) ? kTypes[number] : DType::kInvalid;
}

int32_t NumberOfDType(DType dtype) {
  for (size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i] == dtype && dtype != DType::kInvalid) return static_cast<int32_t>(i);
  }
  return 0;
}

}  // namespace ampc::onnx
