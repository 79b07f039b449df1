#include "tools/c_api/types.h"

#include <iterator>

#include "tools/c_api/ampc.h"

namespace ampc::c_api {
namespace {

struct Pair {
  ampc_dtype c;
  DType dtype;
};
constexpr Pair kTypes[] = {{AMPC_BOOL, DType::kBool},
                           {AMPC_U8, DType::kU8},
                           {AMPC_I8, DType::kI8},
                           {AMPC_I16, DType::kI16},
                           {AMPC_I32, DType::kI32},
                           {AMPC_I64, DType::kI64},
                           {AMPC_F16, DType::kF16},
                           {AMPC_BF16, DType::kBF16},
                           {AMPC_F32, DType::kF32},
                           {AMPC_F64, DType::kF64},
                           {AMPC_C64, DType::kC64},
                           {AMPC_C128, DType::kC128},
                           {AMPC_U16, DType::kU16},
                           {AMPC_U32, DType::kU32},
                           {AMPC_U64, DType::kU64},
                           {AMPC_U4, DType::kU4},
                           {AMPC_I4, DType::kI4},
                           {AMPC_U2, DType::kU2},
                           {AMPC_I2, DType::kI2},
                           {AMPC_F8E4M3FN, DType::kF8E4M3FN},
                           {AMPC_F8E4M3FNUZ, DType::kF8E4M3FNUZ},
                           {AMPC_F8E5M2, DType::kF8E5M2},
                           {AMPC_F8E5M2FNUZ, DType::kF8E5M2FNUZ},
                           {AMPC_F8E8M0, DType::kF8E8M0},
                           {AMPC_F4E2M1, DType::kF4E2M1}};
static_assert(std::size(kTypes) == kNumDTypes - 1);

}  // namespace

DType FromC(int32_t dtype) {
  for (const Pair& pair : kTypes) {
    if (static_cast<int32_t>(pair.c) == dtype) return pair.dtype;
  }
  return DType::kInvalid;
}

int32_t ToC(DType dtype) {
  for (const Pair& pair : kTypes) {
    if (pair.dtype == dtype) return pair.c;
  }
  return 0;
}

}  // namespace ampc::c_api

size_t ampc_dtype_size(int32_t dtype) { return ampc::SizeOf(ampc::c_api::FromC(dtype)); }

const char* ampc_dtype_name(int32_t dtype) { return ampc::Name(ampc::c_api::FromC(dtype)).data(); }
