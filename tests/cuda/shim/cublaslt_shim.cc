// In place of cuBLASLt: products without an epilogue, computed as on the emulated device; with one there is no algorithm, unless nothing is
// computed.
#include <cublasLt.h>

#include <cstring>

#include "tests/cuda/shim/product.h"

extern "C" int AmpcShimCall(const char* function);
extern "C" void AmpcShimProduct();
extern "C" bool AmpcShimComputes();
extern "C" void AmpcShimLive(const char* kind, int change);

#define SHIM(function) \
  if (const int code = AmpcShimCall(function); code != 0) return static_cast<cublasStatus_t>(code);

namespace {

constexpr size_t kWorkspaceBytes = 4096;  // enough for what computes here

struct Layout {
  uint64_t rows, cols;
  int64_t ld, stride;
  int32_t batch, type;
};
struct Operation {
  int32_t compute, transpose_a, transpose_b, epilogue;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t) && sizeof(Operation) <= sizeof(cublasLtMatmulDescOpaque_t));

template <class T, class Opaque>
T& As(Opaque* opaque) {
  return *reinterpret_cast<T*>(opaque);
}
template <class T, class Opaque>
const T& As(const Opaque* opaque) {
  return *reinterpret_cast<const T*>(opaque);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  SHIM("cublasLtCreate")
  *handle = reinterpret_cast<cublasLtHandle_t>(handle);
  AmpcShimLive("cublasLt handles", 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  AmpcShimLive("cublasLt handles", -1);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "an error of the shim"; }
cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t, cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld) {
  SHIM("cublasLtMatrixLayoutInit")
  As<Layout>(layout) = {rows, cols, ld, 0, 1, type};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t size) {
  SHIM("cublasLtMatrixLayoutSetAttribute")
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) std::memcpy(&As<Layout>(layout).batch, value, size);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) std::memcpy(&As<Layout>(layout).stride, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t, cublasComputeType_t compute, cudaDataType) {
  SHIM("cublasLtMatmulDescInit")
  As<Operation>(operation) = {compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t size) {
  SHIM("cublasLtMatmulDescSetAttribute")
  Operation& o = As<Operation>(operation);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) std::memcpy(&o.transpose_a, value, size);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) std::memcpy(&o.transpose_b, value, size);
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) std::memcpy(&o.epilogue, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t, size_t) {
  SHIM("cublasLtMatmulPreferenceInit")
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void*, size_t) {
  SHIM("cublasLtMatmulPreferenceSetAttribute")
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t* results, int* found) {
  SHIM("cublasLtMatmulAlgoGetHeuristic")
  *found = 0;
  if (AmpcShimComputes() && As<Operation>(operation).epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  *found = 1;
  results[0] = {};
  results[0].workspaceSize = kWorkspaceBytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t, void* value,
                                                    size_t size, size_t* written) {
  SHIM("cublasLtMatmulAlgoConfigGetAttribute")
  std::memset(value, 0, size);
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*,
                              void* workspace, size_t workspace_bytes, cudaStream_t native) {
  SHIM("cublasLtMatmul")
  AmpcShimProduct();
  const Operation& o = As<Operation>(operation);
  const Layout &la = As<Layout>(a_layout), &lb = As<Layout>(b_layout), &ld = As<Layout>(d_layout);
  ampc::testing::ShimProduct p = {};
  p.transpose_a = o.transpose_a == CUBLAS_OP_T;
  p.transpose_b = o.transpose_b == CUBLAS_OP_T;
  p.m = static_cast<int64_t>(ld.rows);
  p.n = static_cast<int64_t>(ld.cols);
  p.k = static_cast<int64_t>(p.transpose_a ? la.rows : la.cols);
  p.lda = la.ld;
  p.ldb = lb.ld;
  p.ldd = ld.ld;
  p.batch = ld.batch;
  p.stride_a = la.stride;
  p.stride_b = lb.stride;
  p.stride_d = ld.stride;
  p.type_ab = la.type;
  p.type_d = ld.type;
  p.alpha = alpha;
  p.beta = beta;
  p.a = a;
  p.b = b;
  p.c = c;
  p.d = d;
  p.workspace = workspace;
  p.workspace_bytes = static_cast<int64_t>(workspace_bytes);
  p.stream = native;
  return AmpcShimMultiply(&p) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
