#include "kernels/device/cuda/cublaslt.h"

#include "graph/base/error.h"

namespace ampc {

absl::StatusOr<std::unique_ptr<MatmulLibrary>> NewCublasLt(Device&) { return UnsupportedError("cuBLASLt: this build computes no products with it"); }

}  // namespace ampc
