#include "graph/ops/onnx/dtype_number.h"

#include <algorithm>
#include <iterator>

namespace ampc::onnx {
namespace {

// By ONNX's number; 8 is a string.
constexpr DType kTypes[] = {DType::kInvalid,    DType::kF32,    DType::kU8,         DType::kI8,   DType::kU16,  DType::kI16,
                            DType::kI32,        DType::kI64,    DType::kInvalid,    DType::kBool, DType::kF16,  DType::kF64,
                            DType::kU32,        DType::kU64,    DType::kC64,        DType::kC128, DType::kBF16, DType::kF8E4M3FN,
                            DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kU4,   DType::kI4,   DType::kF4E2M1,
                            DType::kF8E8M0,     DType::kU2,     DType::kI2};

// The same types by name; later ones than these are never named so.
constexpr absl::string_view kNames[] = {"UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
                                        "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
                                        "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};

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

DType DTypeOfEnumerator(absl::string_view name) {
  const auto it = std::find(std::begin(kNames), std::end(kNames), name);
  return it == std::end(kNames) ? DType::kInvalid : DTypeOfNumber(it - std::begin(kNames));
}

absl::string_view EnumeratorOfDType(DType dtype) {
  const int32_t number = NumberOfDType(dtype);
  return number < static_cast<int32_t>(std::size(kNames)) ? kNames[number] : kNames[0];
}

}  // namespace ampc::onnx
