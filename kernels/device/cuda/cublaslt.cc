#include "kernels/device/cuda/cublaslt.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda/cublaslt_api.h"
#include "kernels/device/cuda/cuda_status.h"
#include "kernels/device/device.h"
#include "kernels/device/matmul_plan_cache.h"

namespace ampc {
namespace {

// The handle and the functions; kept by every plan.
struct Session {
  explicit Session(CublasLtApi functions) : api(functions) {}
  Session(const Session&) = delete;
  ~Session() {
    if (handle != nullptr) api.destroy(handle);
  }
  const CublasLtApi api;
  cublasLtHandle_t handle = nullptr;
  int device = 0;
};

std::string NameOf(const CublasLtApi& api, const cublasLtMatmulAlgo_t& algorithm) {
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int32_t value = -1;
    size_t written = 0;
    return api.algorithm_attribute(&algorithm, attribute, &value, sizeof(value), &written) == CUBLAS_STATUS_SUCCESS ? value : -1;
  };
  std::string name = absl::StrCat("cublaslt:", get(CUBLASLT_ALGO_CONFIG_ID), ":tile", get(CUBLASLT_ALGO_CONFIG_TILE_ID), ":stages",
                                  get(CUBLASLT_ALGO_CONFIG_STAGES_ID));
  if (const int32_t parts = get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM); parts > 1) absl::StrAppend(&name, ":split", parts);
  return name;
}

std::string Text(const MatmulDesc& d) {
  return absl::StrCat(d.m, " x ", d.n, " x ", d.k, d.batch > 1 ? absl::StrCat(", ", d.batch, " times") : "", ", ", Name(d.type_ab), " to ",
                      Name(d.type_d), ", epilogue ", static_cast<int>(d.epilogue));
}

class CublasLtPlan : public MatmulPlan {
 public:
  static absl::StatusOr<std::shared_ptr<const MatmulPlan>> Make(std::shared_ptr<const Session> session, const MatmulDesc& desc,
                                                                int64_t limit) {
    const CublasLtApi& api = session->api;
    AMPC_ASSIGN_OR_RETURN(CublasLtProduct product, CublasLtProduct::Make(api, desc));
    AMPC_ASSIGN_OR_RETURN(cublasLtMatmulPreferenceOpaque_t preference, MakePreference(api, desc, limit));
    AMPC_CUDA(cudaSetDevice, session->device);
    std::array<cublasLtMatmulHeuristicResult_t, 8> found;
    int count = 0;
    const cublasStatus_t status = api.heuristic(session->handle, &product.operation, &product.a, &product.b, &product.d, &product.d,
                                                &preference, static_cast<int>(found.size()), found.data(), &count);
    // A step beside the product that no algorithm can do is refused in one way or the other, by version.
    const bool refused =
        status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_INVALID_VALUE && desc.epilogue != MatmulEpilogue::kNone);
    if (!refused) AMPC_RETURN_IF_ERROR(api.Check(status, "cublasLtMatmulAlgoGetHeuristic"));
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
      if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
      return std::make_shared<const CublasLtPlan>(std::move(session), desc, product, found[i]);
    }
    return UnsupportedError(absl::StrCat("cuBLASLt has no algorithm for a matrix product of ", Text(desc)));
  }

  CublasLtPlan(std::shared_ptr<const Session> session, const MatmulDesc& desc, const CublasLtProduct& product,
               const cublasLtMatmulHeuristicResult_t& found)
      : session_(std::move(session)),
        desc_(desc),
        product_(product),
        algorithm_(found.algo),
        workspace_bytes_(static_cast<int64_t>(found.workspaceSize)),
        name_(NameOf(session_->api, found.algo)) {}

  int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string implementation() const override { return name_; }

  absl::Status Run(Stream& stream, const MatmulArgs& args) const override {
    const CublasLtApi& api = session_->api;
    CublasLtProduct product = product_;  // other threads may run the plan, too
    const EpilogueTraits traits = TraitsOf(desc_.epilogue);
    if (traits.reads_bias || traits.writes_bias) AMPC_RETURN_IF_ERROR(product.SetBias(api, args.bias));
    if (traits.aux) AMPC_RETURN_IF_ERROR(product.SetAux(api, args.aux));
    const bool twice = desc_.type_ab == DType::kF64;
    const float alpha = static_cast<float>(desc_.alpha), beta = static_cast<float>(desc_.beta);
    const void* const alpha_at = twice ? static_cast<const void*>(&desc_.alpha) : &alpha;
    const void* const beta_at = twice ? static_cast<const void*>(&desc_.beta) : &beta;
    return api.Check(api.matmul(session_->handle, &product.operation, alpha_at, args.a, &product.a, args.b, &product.b, beta_at,
                                args.c == nullptr ? args.d : args.c, &product.d, args.d, &product.d, &algorithm_, args.workspace,
                                static_cast<size_t>(workspace_bytes_), static_cast<cudaStream_t>(stream.native())),
                     "cublasLtMatmul");
  }

 private:
  const std::shared_ptr<const Session> session_;
  const MatmulDesc desc_;
  const CublasLtProduct product_;
  const cublasLtMatmulAlgo_t algorithm_;
  const int64_t workspace_bytes_;
  const std::string name_;
};

class CublasLt : public MatmulLibrary {
 public:
  explicit CublasLt(std::shared_ptr<const Session> session) : session_(std::move(session)) {}

  absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& desc, int64_t workspace_limit) override {
    return plans_.Find(desc, workspace_limit, [&] { return CublasLtPlan::Make(session_, desc, workspace_limit); });
  }

 private:
  const std::shared_ptr<const Session> session_;
  MatmulPlanCache plans_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MatmulLibrary>> NewCublasLt(Device& device) {
  AMPC_ASSIGN_OR_RETURN(const CublasLtApi api, CublasLtApi::Open());
  const auto session = std::make_shared<Session>(api);
  const std::string name = device.name();
  if (!absl::SimpleAtoi(name.substr(name.find(':') + 1), &session->device))
    return InternalError(absl::StrCat("'", name, "' is no CUDA device"));
  AMPC_CUDA(cudaSetDevice, session->device);
  AMPC_RETURN_IF_ERROR(api.Check(api.create(&session->handle), "cublasLtCreate"));
  return std::make_unique<CublasLt>(session);
}

}  // namespace ampc
