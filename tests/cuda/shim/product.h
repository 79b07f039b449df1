// A matrix product from the library's shim to the program's, in terms of the C++ language only: libraries of the machine that are linked
// statically cannot be part of a shared object.
#pragma once

#include <cstdint>

namespace ampc::testing {

// As MatmulDesc (kernels/device/matmul_library.h); types are cudaDataType.
struct ShimProduct {
  bool transpose_a, transpose_b;
  int64_t m, n, k, lda, ldb, ldd, batch, stride_a, stride_b, stride_d;
  int type_ab, type_d;
  const void *alpha, *beta;
  const void *a, *b, *c;
  void *d, *workspace;
  int64_t workspace_bytes;
  void* stream;
};

}  // namespace ampc::testing

// 0 where it is done.
extern "C" int AmpcShimMultiply(const ampc::testing::ShimProduct* product);
