#include "kernels/device/cuda/cublaslt_api.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda/shared_library.h"

namespace ampc {
namespace {

cudaDataType TypeOf(DType type) {
  switch (type) {
    case DType::kF16: return CUDA_R_16F;
    case DType::kBF16: return CUDA_R_16BF;
    case DType::kF64: return CUDA_R_64F;
    default: return CUDA_R_32F;
  }
}

cublasComputeType_t ComputeTypeOf(const MatmulDesc& desc) {
  if (desc.type_ab == DType::kF64) return CUBLAS_COMPUTE_64F;
  return desc.tf32 && desc.type_ab == DType::kF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t EpilogueOf(MatmulEpilogue epilogue) {
  switch (epilogue) {
    case MatmulEpilogue::kNone: return CUBLASLT_EPILOGUE_DEFAULT;
    case MatmulEpilogue::kBias: return CUBLASLT_EPILOGUE_BIAS;
    case MatmulEpilogue::kRelu: return CUBLASLT_EPILOGUE_RELU;
    case MatmulEpilogue::kReluBias: return CUBLASLT_EPILOGUE_RELU_BIAS;
    case MatmulEpilogue::kGelu: return CUBLASLT_EPILOGUE_GELU;
    case MatmulEpilogue::kGeluBias: return CUBLASLT_EPILOGUE_GELU_BIAS;
    case MatmulEpilogue::kReluAux: return CUBLASLT_EPILOGUE_RELU_AUX;
    case MatmulEpilogue::kReluAuxBias: return CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
    case MatmulEpilogue::kGeluAux: return CUBLASLT_EPILOGUE_GELU_AUX;
    case MatmulEpilogue::kGeluAuxBias: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case MatmulEpilogue::kDRelu: return CUBLASLT_EPILOGUE_DRELU;
    case MatmulEpilogue::kDGelu: return CUBLASLT_EPILOGUE_DGELU;
    case MatmulEpilogue::kBiasGradA: return CUBLASLT_EPILOGUE_BGRADA;
    case MatmulEpilogue::kBiasGradB: return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

template <typename T>
absl::Status Set(const CublasLtApi& api, cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  return api.Check(api.set_desc(&operation, attribute, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
}

absl::Status MakeLayout(const CublasLtApi& api, DType type, int64_t rows, int64_t cols, int64_t ld, int64_t batch, int64_t stride,
                        cublasLtMatrixLayoutOpaque_t* layout) {
  AMPC_RETURN_IF_ERROR(
      api.Check(api.init_layout(layout, sizeof(*layout), TypeOf(type), static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), ld),
                "cublasLtMatrixLayoutInit"));
  if (batch == 1) return absl::OkStatus();
  const int32_t count = static_cast<int32_t>(batch);
  AMPC_RETURN_IF_ERROR(
      api.Check(api.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)), "cublasLtMatrixLayoutSetAttribute"));
  return api.Check(api.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
                   "cublasLtMatrixLayoutSetAttribute");
}

// Heuristics see how addresses are aligned.
const void* AlignedAddress(int64_t alignment) { return reinterpret_cast<const void*>(static_cast<uintptr_t>(alignment)); }

absl::Status SetEpilogue(const CublasLtApi& api, const MatmulDesc& desc, CublasLtProduct* p) {
  if (desc.epilogue == MatmulEpilogue::kNone) return absl::OkStatus();
  const EpilogueTraits traits = TraitsOf(desc.epilogue);
  AMPC_RETURN_IF_ERROR(Set(api, p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(EpilogueOf(desc.epilogue))));
  if (traits.reads_bias || traits.writes_bias) AMPC_RETURN_IF_ERROR(p->SetBias(api, AlignedAddress(desc.alignment)));  // of D's type
  if (!traits.aux) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(Set(api, p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, desc.aux_ld));
  return p->SetAux(api, AlignedAddress(std::max<int64_t>(16, desc.alignment)));
}

}  // namespace

absl::StatusOr<CublasLtApi> CublasLtApi::Open() {
  // The one of this build's CUDA first: a driver that is too old for CUDA 13 runs what is of CUDA 12.
#if CUDART_VERSION >= 13000
  AMPC_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open({"libcublasLt.so.13", "libcublasLt.so.12"}));
#else
  AMPC_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open({"libcublasLt.so.12", "libcublasLt.so.13"}));
#endif
  CublasLtApi api;
  const auto load = [&library](auto... functions) {
    absl::Status status;
    (status.Update(library.Load(std::get<0>(functions), std::get<1>(functions))), ...);
    return status;
  };
  AMPC_RETURN_IF_ERROR(load(
      std::tuple("cublasLtCreate", &api.create), std::tuple("cublasLtDestroy", &api.destroy),
      std::tuple("cublasLtGetVersion", &api.version), std::tuple("cublasLtGetStatusString", &api.status_string),
      std::tuple("cublasLtMatrixLayoutInit_internal", &api.init_layout), std::tuple("cublasLtMatrixLayoutSetAttribute", &api.set_layout),
      std::tuple("cublasLtMatmulDescInit_internal", &api.init_desc), std::tuple("cublasLtMatmulDescSetAttribute", &api.set_desc),
      std::tuple("cublasLtMatmulPreferenceInit_internal", &api.init_preference),
      std::tuple("cublasLtMatmulPreferenceSetAttribute", &api.set_preference), std::tuple("cublasLtMatmulAlgoGetHeuristic", &api.heuristic),
      std::tuple("cublasLtMatmulAlgoConfigGetAttribute", &api.algorithm_attribute), std::tuple("cublasLtMatmul", &api.matmul)));
  return api;
}

absl::Status CublasLtApi::Check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return InternalError(absl::StrCat(call, ": ", status_string(status)));
}

absl::StatusOr<CublasLtProduct> CublasLtProduct::Make(const CublasLtApi& api, const MatmulDesc& desc) {
  AMPC_RETURN_IF_ERROR(CheckMatmul(desc));
  CublasLtProduct p;
  const cudaDataType scale = desc.type_ab == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
  AMPC_RETURN_IF_ERROR(api.Check(api.init_desc(&p.operation, sizeof(p.operation), ComputeTypeOf(desc), scale), "cublasLtMatmulDescInit"));
  const auto transform = [](bool transpose) { return static_cast<int32_t>(transpose ? CUBLAS_OP_T : CUBLAS_OP_N); };
  AMPC_RETURN_IF_ERROR(Set(api, p.operation, CUBLASLT_MATMUL_DESC_TRANSA, transform(desc.transpose_a)));
  AMPC_RETURN_IF_ERROR(Set(api, p.operation, CUBLASLT_MATMUL_DESC_TRANSB, transform(desc.transpose_b)));
  AMPC_RETURN_IF_ERROR(SetEpilogue(api, desc, &p));
  const int64_t a_rows = desc.transpose_a ? desc.k : desc.m, a_cols = desc.transpose_a ? desc.m : desc.k;
  const int64_t b_rows = desc.transpose_b ? desc.n : desc.k, b_cols = desc.transpose_b ? desc.k : desc.n;
  AMPC_RETURN_IF_ERROR(MakeLayout(api, desc.type_ab, a_rows, a_cols, desc.lda, desc.batch, desc.stride_a, &p.a));
  AMPC_RETURN_IF_ERROR(MakeLayout(api, desc.type_ab, b_rows, b_cols, desc.ldb, desc.batch, desc.stride_b, &p.b));
  AMPC_RETURN_IF_ERROR(MakeLayout(api, desc.type_d, desc.m, desc.n, desc.ldd, desc.batch, desc.stride_d, &p.d));
  return p;
}

absl::Status CublasLtProduct::SetBias(const CublasLtApi& api, const void* bias) {
  return Set(api, operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
}

absl::Status CublasLtProduct::SetAux(const CublasLtApi& api, const void* aux) {
  return Set(api, operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
}

absl::StatusOr<cublasLtMatmulPreferenceOpaque_t> MakePreference(const CublasLtApi& api, const MatmulDesc& desc, int64_t workspace_limit) {
  cublasLtMatmulPreferenceOpaque_t preference = {};
  AMPC_RETURN_IF_ERROR(api.Check(api.init_preference(&preference, sizeof(preference)), "cublasLtMatmulPreferenceInit"));
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    return api.Check(api.set_preference(&preference, attribute, &value, sizeof(value)), "cublasLtMatmulPreferenceSetAttribute");
  };
  AMPC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_limit)));
  AMPC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    AMPC_RETURN_IF_ERROR(set(matrix, static_cast<uint32_t>(desc.alignment)));
  }
  return preference;
}

}  // namespace ampc
