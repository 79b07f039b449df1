#include "graph/formats/tensor_io/safetensors_types.h"

namespace ampc::safetensors_internal {
namespace {

constexpr ElementType kTypes[] = {
    {"BOOL", DType::kBool, 1},       {"U8", DType::kU8, 1},           {"I8", DType::kI8, 1},
    {"I16", DType::kI16, 2},         {"I32", DType::kI32, 4},         {"I64", DType::kI64, 8},
    {"F16", DType::kF16, 2},         {"BF16", DType::kBF16, 2},       {"F32", DType::kF32, 4},
    {"F64", DType::kF64, 8},         {"C64", DType::kC64, 8},         {"U16", DType::kU16, 2},
    {"U32", DType::kU32, 4},         {"U64", DType::kU64, 8},         {"F8_E4M3", DType::kF8E4M3FN, 1},
    {"F8_E5M2", DType::kF8E5M2, 1},  {"F8_E8M0", DType::kF8E8M0, 1},  {"F4", DType::kF4E2M1, 0},
    {"F6_E2M3", DType::kInvalid, 0}, {"F6_E3M2", DType::kInvalid, 0},
};

}  // namespace

const ElementType* FindType(absl::string_view name) {
  for (const ElementType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const ElementType* FindType(DType dtype) {
  if (dtype == DType::kInvalid) return nullptr;
  for (const ElementType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

}  // namespace ampc::safetensors_internal
