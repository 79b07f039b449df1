// cuBLASLt takes every descriptor that we make. Descriptors are host memory: this runs without a device, but not without the library.
// cublasLtCreate and what needs its handle (heuristics, products) answer CUBLAS_STATUS_NOT_INITIALIZED where there is no device.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "graph/base/error.h"
#include "kernels/device/cuda/cublaslt_api.h"
#include "kernels/device/cuda/shared_library.h"
#include "kernels/device/matmul_library.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

class CublasLtDescriptorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<CublasLtApi> api = CublasLtApi::Open();
    if (ExitCodeOf(api.status()) == ExitCode::kUnsupported) GTEST_SKIP() << api.status().message();
    ASSERT_OK(api);
    api_ = *api;
  }
  CublasLtApi api_;
};

MatmulDesc Desc(DType ab, DType result, MatmulEpilogue epilogue, int form) {
  MatmulDesc d{.transpose_a = (form & 1) != 0, .transpose_b = (form & 2) != 0, .m = 24, .n = 40, .k = 16};
  d.lda = d.transpose_a ? d.k : d.m;
  d.ldb = d.transpose_b ? d.n : d.k;
  d.ldd = d.m;
  d.type_ab = ab;
  d.type_d = result;
  d.epilogue = epilogue;
  if (TraitsOf(epilogue).aux) d.aux_ld = 128;
  return d;
}

TEST_F(CublasLtDescriptorsTest, EveryAttributeIsTaken) {
  struct Types {
    DType ab, result;
  };
  int made = 0;
  for (const Types types : {Types{DType::kF32, DType::kF32},
                            {DType::kF16, DType::kF16},
                            {DType::kF16, DType::kF32},
                            {DType::kBF16, DType::kBF16},
                            {DType::kBF16, DType::kF32},
                            {DType::kF64, DType::kF64}}) {
    for (int e = 0; e <= static_cast<int>(MatmulEpilogue::kBiasGradB); ++e) {
      for (int form = 0; form < 4; ++form) {
        for (const int64_t batch : {1, 3}) {
          MatmulDesc d = Desc(types.ab, types.result, static_cast<MatmulEpilogue>(e), form);
          d.batch = batch;
          d.stride_a = form == 0 ? 0 : d.m * d.k;
          d.stride_b = d.k * d.n;
          d.stride_d = d.m * d.n;
          d.tf32 = form == 3;
          if (!CheckMatmul(d).ok()) continue;
          ++made;
          ASSERT_OK_AND_ASSIGN(CublasLtProduct product, CublasLtProduct::Make(api_, d));
          float bias = 0;
          EXPECT_OK(product.SetBias(api_, &bias));
          EXPECT_OK(product.SetAux(api_, &bias));
          EXPECT_OK(MakePreference(api_, d, int64_t{32} << 20));
        }
      }
    }
  }
  EXPECT_EQ(made, 5 * (14 + 6) * 4 + 8);  // f64 has no epilogues; those with aux or sums have no batch
}

TEST_F(CublasLtDescriptorsTest, AttributesArriveAsTheyWereSet) {
  MatmulDesc d = Desc(DType::kF16, DType::kF16, MatmulEpilogue::kGeluAuxBias, 1);
  ASSERT_OK_AND_ASSIGN(CublasLtProduct product, CublasLtProduct::Make(api_, d));
  ASSERT_OK_AND_ASSIGN(const SharedLibrary library, SharedLibrary::Open({"libcublasLt.so.13", "libcublasLt.so.12"}));
  decltype(&cublasLtMatmulDescGetAttribute) get = nullptr;
  ASSERT_OK(library.Load("cublasLtMatmulDescGetAttribute", &get));
  const auto read = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    size_t written = 0;
    EXPECT_OK(api_.Check(get(&product.operation, attribute, &value, sizeof(value), &written), "cublasLtMatmulDescGetAttribute"));
    return value;
  };
  EXPECT_EQ(read(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{0}), static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU_AUX_BIAS));
  EXPECT_EQ(read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{0}), 128);
  EXPECT_EQ(read(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{0}), CUBLAS_OP_T);
  EXPECT_EQ(read(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{0}), CUBLAS_OP_N);
  EXPECT_EQ(read(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t{0}), CUBLAS_COMPUTE_32F);
}

TEST_F(CublasLtDescriptorsTest, AWrongDescIsRefusedBeforeTheLibrary) {
  MatmulDesc d = Desc(DType::kF32, DType::kF32, MatmulEpilogue::kNone, 0);
  d.lda = 1;
  EXPECT_FALSE(CublasLtProduct::Make(api_, d).ok());
}

TEST_F(CublasLtDescriptorsTest, TheErrorNamesTheCall) {
  EXPECT_EQ(api_.Check(CUBLAS_STATUS_SUCCESS, "cublasLtMatmul"), absl::OkStatus());
  EXPECT_EQ(api_.Check(CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul").message(),
            std::string("cublasLtMatmul: ") + api_.status_string(CUBLAS_STATUS_INVALID_VALUE));
}

}  // namespace
}  // namespace ampc
