// Products of stacks and strided sums, with sizes and types that no op's case has.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/base/half.h"
#include "kernels/cuda/matmul/device_product.h"
#include "kernels/cuda/matmul/strided_sum_plan.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc::cuda {
namespace {

class DeviceProductTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(stream_, device_->NewStream()); }
  template <typename T>
  T* Upload(const std::vector<T>& values) {
    absl::StatusOr<DeviceBuffer> buffer = device_->allocator().Allocate(static_cast<int64_t>(values.size() * sizeof(T)), *stream_, "test");
    EXPECT_OK(buffer);
    EXPECT_OK(stream_->CopyToDevice(buffer->data(), values.data(), buffer->bytes()));
    buffers_.push_back(*std::move(buffer));
    return static_cast<T*>(buffers_.back().data());
  }
  template <typename T>
  std::vector<T> Numbers(int64_t n) {
    std::vector<T> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(static_cast<float>(i * 7 % 11 - 5)));
    return values;
  }
  template <typename T>
  std::vector<T> Result(const T* at, int64_t n) {
    EXPECT_OK(stream_->Synchronize());
    return std::vector<T>(at, at + n);
  }

  std::shared_ptr<Device> device_ = NewEmulatedDevice(0);
  std::unique_ptr<Stream> stream_;
  std::vector<DeviceBuffer> buffers_;
};

TEST_F(DeviceProductTest, FactorsThatRepeatAlongDifferentDims) {
  onednn::MatmulSpec s;
  s.a_batch = {2, 1, 3};
  s.b_batch = {1, 4, 3};
  s.m = 2;
  s.n = 3;
  s.k = 5;
  ASSERT_OK_AND_ASSIGN(const DeviceProduct product, DeviceProduct::Make(*device_, s, {.factors = DType::kF64, .result = DType::kF64}));
  const std::vector<double> a = Numbers<double>(6 * 10), b = Numbers<double>(12 * 15);
  double* const out = Upload(std::vector<double>(24 * 6));
  void* const workspace = Upload(std::vector<char>(static_cast<size_t>(product.workspace_bytes())));
  ASSERT_OK(product.Run(*stream_, {.a = Upload(a), .b = Upload(b), .out = out}, workspace));
  const std::vector<double> found = Result(out, 24 * 6);
  size_t at = 0;
  for (int64_t x = 0; x < 2; ++x) {
    for (int64_t y = 0; y < 4; ++y) {
      for (int64_t z = 0; z < 3; ++z) {
        for (int64_t i = 0; i < 2; ++i) {
          for (int64_t j = 0; j < 3; ++j, ++at) {
            double sum = 0;
            for (int64_t p = 0; p < 5; ++p) {
              sum += a[static_cast<size_t>((x * 3 + z) * 10 + i * 5 + p)] * b[static_cast<size_t>((y * 3 + z) * 15 + p * 3 + j)];
            }
            EXPECT_EQ(found[at], sum) << x << y << z << i << j;
          }
        }
      }
    }
  }
}

TEST_F(DeviceProductTest, SumsOfNothingAreZeros) {
  onednn::MatmulSpec s;
  s.m = 2;
  s.n = 3;
  s.k = 0;
  ASSERT_OK_AND_ASSIGN(const DeviceProduct product, DeviceProduct::Make(*device_, s, {.factors = DType::kF16, .result = DType::kF16}));
  EXPECT_EQ(product.workspace_bytes(), 0);
  Half* const out = Upload(std::vector<Half>(6, Half(3.0f)));
  ASSERT_OK(product.Run(*stream_, {.out = out}, nullptr));
  for (const Half h : Result(out, 6)) EXPECT_EQ(h.bits, 0);
  s.m = 0;
  s.k = 4;
  ASSERT_OK_AND_ASSIGN(const DeviceProduct empty, DeviceProduct::Make(*device_, s, {}));
  EXPECT_OK(empty.Run(*stream_, {}, nullptr));
}

TEST_F(DeviceProductTest, AddsToAnotherMatrix) {
  onednn::MatmulSpec s;
  s.m = 1;
  s.n = 2;
  s.k = 1;
  s.scale = 2;
  ASSERT_OK_AND_ASSIGN(const DeviceProduct product, DeviceProduct::Make(*device_, s, {.beta = 0.5}));
  float* const out = Upload(std::vector<float>(2));
  void* const workspace = Upload(std::vector<char>(static_cast<size_t>(product.workspace_bytes())));
  ASSERT_OK(
      product.Run(*stream_, {.a = Upload<float>({3}), .b = Upload<float>({1, 2}), .c = Upload<float>({10, 20}), .out = out}, workspace));
  EXPECT_EQ(Result(out, 2), (std::vector<float>{11, 22}));
}

// Few results with many terms are summed by teams, others by threads.
TEST_F(DeviceProductTest, ColumnSumsByTeamsAndByThreads) {
  for (const int64_t cols : {3, 5000}) {
    const int64_t rows = 300;
    const std::vector<Half> in = Numbers<Half>(rows * cols);
    ASSERT_OK_AND_ASSIGN(const StridedSumParams sum, PlanDenseSum({rows, cols}, {true, false}, DType::kF16, DType::kF32, 0.5));
    EXPECT_EQ(sum.terms, rows);
    float* const out = Upload(std::vector<float>(static_cast<size_t>(cols)));
    ASSERT_OK(RunStridedSum(*stream_, sum, Upload(in), out));
    const std::vector<float> found = Result(out, cols);
    for (int64_t c = 0; c < cols; ++c) {
      float want = 0;
      for (int64_t r = 0; r < rows; ++r) want += static_cast<float>(in[static_cast<size_t>(r * cols + c)]);
      EXPECT_EQ(found[static_cast<size_t>(c)], want / 2) << c;
    }
  }
}

TEST_F(DeviceProductTest, StridedCopyTransposesAndRepeats) {
  // out[j, r, i] = in[i, j] for r in 0..1
  const StridedDim dims[] = {{.size = 3, .in = 1, .out = 4}, {.size = 2, .in = 0, .out = 2}, {.size = 2, .in = 3, .out = 1}};
  ASSERT_OK_AND_ASSIGN(const StridedSumParams copy, PlanStridedSum(dims, DType::kF32, DType::kF16));
  Half* const out = Upload(std::vector<Half>(12));
  ASSERT_OK(RunStridedSum(*stream_, copy, Upload<float>({1, 2, 3, 4, 5, 6}), out));
  std::vector<float> found;
  for (const Half h : Result(out, 12)) found.push_back(static_cast<float>(h));
  EXPECT_EQ(found, (std::vector<float>{1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6}));
}

TEST_F(DeviceProductTest, DimsThatLieInEachOtherJoin) {
  ASSERT_OK_AND_ASSIGN(const StridedSumParams sum,
                       PlanDenseSum({2, 1, 3, 4, 5}, {false, false, false, true, true}, DType::kF32, DType::kF32));
  EXPECT_EQ(sum.kept, 1);
  EXPECT_EQ(sum.summed, 1);
  EXPECT_EQ(sum.kept_axes[0].size, 6);
  EXPECT_EQ(sum.summed_axes[0].size, 20);
  std::vector<StridedDim> many;
  for (int64_t i = 0; i < 9; ++i) many.push_back({.size = 2, .in = int64_t{1} << (2 * i), .out = int64_t{1} << i});
  EXPECT_FALSE(PlanStridedSum(many, DType::kF32, DType::kF32).ok());
}

TEST_F(DeviceProductTest, ASumOfNoTermsIsZero) {
  ASSERT_OK_AND_ASSIGN(const StridedSumParams sum, PlanDenseSum({0, 4}, {true, false}, DType::kF32, DType::kF32));
  float* const out = Upload(std::vector<float>(4, 1.0f));
  ASSERT_OK(RunStridedSum(*stream_, sum, nullptr, out));
  EXPECT_EQ(Result(out, 4), std::vector<float>(4, 0.0f));
}

}  // namespace
}  // namespace ampc::cuda
