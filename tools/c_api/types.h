// The element types of the C interface, whose numbers are fixed.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::c_api {

DType FromC(int32_t dtype);  // kInvalid for no ampc_dtype
int32_t ToC(DType dtype);    // 0 for kInvalid

}  // namespace ampc::c_api
