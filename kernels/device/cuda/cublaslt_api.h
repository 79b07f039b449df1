// The functions of cuBLASLt that we call, and their descriptors of a product. Descriptors need no device.
#pragma once

#include <cublasLt.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/matmul_library.h"

namespace ampc {

struct CublasLtApi {
  // Exit code 4 when the library is not found or lacks a function.
  static absl::StatusOr<CublasLtApi> Open();
  // Internal with the call's name and the library's text.
  absl::Status Check(cublasStatus_t status, const char* call) const;

  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulDescInit_internal) init_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_attribute = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
};

// A MatmulDesc in the library's terms. Values that may be copied.
struct CublasLtProduct {
  // Internal for a desc that breaks the rules of matmul_library.h, or when the library refuses an attribute.
  static absl::StatusOr<CublasLtProduct> Make(const CublasLtApi& api, const MatmulDesc& desc);
  // Sets what differs from run to run.
  absl::Status SetBias(const CublasLtApi& api, const void* bias);
  absl::Status SetAux(const CublasLtApi& api, const void* aux);

  cublasLtMatmulDescOpaque_t operation = {};
  cublasLtMatrixLayoutOpaque_t a = {}, b = {}, d = {};
};

// The limits of algorithms: `workspace_limit` bytes, addresses of desc.alignment, and sums of parts in the type of the computation, so that
// a result is rounded once and is the same each time.
absl::StatusOr<cublasLtMatmulPreferenceOpaque_t> MakePreference(const CublasLtApi& api, const MatmulDesc& desc, int64_t workspace_limit);

}  // namespace ampc
