// The emulated device's products against sums written out here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "graph/base/half.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/device/matmul_library.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// Small integers: every sum is exact in every type.
float Value(int64_t i, int64_t seed) { return static_cast<float>((i * 7 + seed * 3) % 5 - 2); }

class EmulatedMatmulTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(stream_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(library_, device_->matmul());
  }
  template <typename T>
  T* Upload(const std::vector<T>& values) {
    absl::StatusOr<DeviceBuffer> buffer = device_->allocator().Allocate(static_cast<int64_t>(values.size() * sizeof(T)), *stream_, "test");
    EXPECT_OK(buffer);
    EXPECT_OK(stream_->CopyToDevice(buffer->data(), values.data(), buffer->bytes()));
    buffers_.push_back(*std::move(buffer));
    return static_cast<T*>(buffers_.back().data());
  }
  template <typename T>
  std::vector<T> Filled(int64_t n, int64_t seed) {
    std::vector<T> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<T>(Value(i, seed));
    return values;
  }
  absl::Status Run(const MatmulDesc& desc, MatmulArgs args) {
    absl::StatusOr<std::shared_ptr<const MatmulPlan>> plan = library_->Plan(desc, 1 << 20);
    if (!plan.ok()) return plan.status();
    args.workspace = Upload(std::vector<char>(static_cast<size_t>((*plan)->workspace_bytes())));
    const absl::Status status = (*plan)->Run(*stream_, args);
    return status.ok() ? stream_->Synchronize() : status;
  }

  std::shared_ptr<Device> device_ = NewEmulatedDevice(0);
  std::unique_ptr<Stream> stream_;
  MatmulLibrary* library_ = nullptr;
  std::vector<DeviceBuffer> buffers_;
};

template <typename T>
struct DTypeOfTest;
template <>
struct DTypeOfTest<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOfTest<double> {
  static constexpr DType kValue = DType::kF64;
};
template <>
struct DTypeOfTest<Half> {
  static constexpr DType kValue = DType::kF16;
};

template <typename T>
class EmulatedProductTest : public EmulatedMatmulTest {};
using Types = ::testing::Types<float, double, Half>;
TYPED_TEST_SUITE(EmulatedProductTest, Types);

TYPED_TEST(EmulatedProductTest, EveryTransposition) {
  using T = TypeParam;
  const int64_t m = 3, n = 4, k = 5, batch = 2;
  for (int form = 0; form < 4; ++form) {
    MatmulDesc d{.transpose_a = (form & 1) != 0, .transpose_b = (form & 2) != 0, .m = m, .n = n, .k = k};
    d.lda = (d.transpose_a ? k : m) + 1;
    d.ldb = (d.transpose_b ? n : k) + 2;
    d.ldd = m + 3;
    d.batch = batch;
    d.stride_a = 0;
    d.stride_b = d.ldb * (d.transpose_b ? k : n) + 4;
    d.stride_d = d.ldd * n;
    d.type_ab = d.type_d = DTypeOfTest<T>::kValue;
    d.alpha = 2;
    d.beta = -1;
    const std::vector<T> a = this->template Filled<T>(d.lda * (d.transpose_a ? m : k), 1),
                         b = this->template Filled<T>(d.stride_b * batch, 2);
    const std::vector<T> c = this->template Filled<T>(d.stride_d * batch, 3);
    const std::vector<T> untouched(c.size(), static_cast<T>(77.0f));
    T* const out = this->Upload(untouched);
    ASSERT_OK(this->Run(d, {.a = this->Upload(a), .b = this->Upload(b), .c = this->Upload(c), .d = out}));
    for (int64_t p = 0; p < batch; ++p) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < d.ldd; ++i) {
          const size_t at = static_cast<size_t>(p * d.stride_d + j * d.ldd + i);
          double sum = 0;
          for (int64_t q = 0; q < k; ++q) {
            const double x = static_cast<float>(a[static_cast<size_t>(d.transpose_a ? q + i * d.lda : i + q * d.lda) % a.size()]);
            const double y = static_cast<float>(b[static_cast<size_t>(p * d.stride_b + (d.transpose_b ? j + q * d.ldb : q + j * d.ldb))]);
            sum += x * y;
          }
          const double want = i < m ? 2 * sum - static_cast<float>(c[at]) : 77;
          EXPECT_EQ(static_cast<float>(out[at]), want) << "form " << form << " matrix " << p << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST_F(EmulatedMatmulTest, OneRoundingBehindTheSum) {
  const std::vector<Half> a = {Half(2048.0f), Half(1.0f), Half(1.0f)}, b = {Half(1.0f), Half(1.0f), Half(1.0f)};
  MatmulDesc d{.m = 1, .n = 1, .k = 3, .lda = 1, .ldb = 3, .ldd = 1, .type_ab = DType::kF16, .type_d = DType::kF16};
  Half* const out = Upload(std::vector<Half>(1));
  ASSERT_OK(Run(d, {.a = Upload(a), .b = Upload(b), .d = out}));
  EXPECT_EQ(static_cast<float>(out[0]), 2050.0f);  // 2048 when each sum is rounded
  d.type_d = DType::kF32;
  float* const wide = Upload(std::vector<float>(1));
  ASSERT_OK(Run(d, {.a = Upload(a), .b = Upload(b), .d = wide}));
  EXPECT_EQ(wide[0], 2050.0f);
}

// D = x y^T of a column and a row: values of both signs.
MatmulDesc Outer(int64_t m, int64_t n) { return {.m = m, .n = n, .k = 1, .lda = m, .ldb = 1, .ldd = m}; }

TEST_F(EmulatedMatmulTest, BiasAlongTheRowsOfD) {
  MatmulDesc d = Outer(2, 3);
  d.epilogue = MatmulEpilogue::kReluBias;
  float* const out = Upload(std::vector<float>(6));
  ASSERT_OK(Run(d, {.a = Upload<float>({1, 2}), .b = Upload<float>({1, 0, -1}), .d = out, .bias = Upload<float>({10, -1})}));
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{11, 1, 10, 0, 9, 0}));
}

TEST_F(EmulatedMatmulTest, MaskOfReluIsReadByItsGradient) {
  MatmulDesc d = Outer(3, 2);
  d.epilogue = MatmulEpilogue::kReluAux;
  d.aux_ld = 128;
  float* const out = Upload(std::vector<float>(6));
  uint8_t* const mask = Upload(std::vector<uint8_t>(32, 0));
  ASSERT_OK(Run(d, {.a = Upload<float>({1, -1, 2}), .b = Upload<float>({1, -1}), .d = out, .aux = mask}));
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(mask[0], 0b101);
  EXPECT_EQ(mask[16], 0b010);  // the second column begins at bit 128
  d.epilogue = MatmulEpilogue::kDRelu;
  ASSERT_OK(Run(d, {.a = Upload<float>({5, 6, 7}), .b = Upload<float>({1, 1}), .d = out, .aux = mask}));
  EXPECT_EQ(std::vector<float>(out, out + 6), (std::vector<float>{5, 0, 7, 0, 6, 0}));
}

TEST_F(EmulatedMatmulTest, GeluKeepsItsInputForItsGradient) {
  MatmulDesc d = Outer(2, 1);
  d.epilogue = MatmulEpilogue::kGeluAuxBias;
  d.aux_ld = 8;
  float* const out = Upload(std::vector<float>(2));
  float* const kept = Upload(std::vector<float>(8));
  ASSERT_OK(Run(d, {.a = Upload<float>({1, -2}), .b = Upload<float>({1}), .d = out, .bias = Upload<float>({0.5f, 1}), .aux = kept}));
  EXPECT_EQ(kept[0], 1.5f);
  EXPECT_EQ(kept[1], -1.0f);
  EXPECT_NEAR(out[0], 1.39957f, 1e-5);
  EXPECT_NEAR(out[1], -0.158808f, 1e-5);
  d.epilogue = MatmulEpilogue::kDGelu;
  ASSERT_OK(Run(d, {.a = Upload<float>({1, 1}), .b = Upload<float>({1}), .d = out, .aux = kept}));
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); };
  EXPECT_NEAR(out[0], (gelu(1.5 + 1e-5) - gelu(1.5 - 1e-5)) / 2e-5, 1e-4);
  EXPECT_NEAR(out[1], (gelu(-1 + 1e-5) - gelu(-1 - 1e-5)) / 2e-5, 1e-4);
}

TEST_F(EmulatedMatmulTest, SumsOfTheFactorsOverK) {
  MatmulDesc d{.m = 2, .n = 3, .k = 2, .lda = 2, .ldb = 2, .ldd = 2};
  float* const out = Upload(std::vector<float>(6));
  float* const sums = Upload(std::vector<float>(3));
  const MatmulArgs args{.a = Upload<float>({1, 2, 3, 4}), .b = Upload<float>({1, 2, 3, 4, 5, 6}), .d = out, .bias = sums};
  d.epilogue = MatmulEpilogue::kBiasGradA;
  ASSERT_OK(Run(d, args));
  EXPECT_EQ(std::vector<float>(sums, sums + 2), (std::vector<float>{4, 6}));
  d.epilogue = MatmulEpilogue::kBiasGradB;
  ASSERT_OK(Run(d, args));
  EXPECT_EQ(std::vector<float>(sums, sums + 3), (std::vector<float>{3, 7, 11}));
}

TEST_F(EmulatedMatmulTest, RefusesWhatTheLibraryRefuses) {
  const MatmulDesc good = Outer(4, 4);
  EXPECT_OK(CheckMatmul(good));
  const auto refused = [&](auto change) {
    MatmulDesc d = good;
    change(d);
    return !CheckMatmul(d).ok() && !library_->Plan(d, 1 << 20).ok();
  };
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.k = 0; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.lda = 3; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.transpose_b = true, d.ldb = 3; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.type_d = DType::kF16; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.type_ab = d.type_d = DType::kI32; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.epilogue = MatmulEpilogue::kReluAux, d.aux_ld = 64; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.epilogue = MatmulEpilogue::kGeluAux, d.aux_ld = 4; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.epilogue = MatmulEpilogue::kBias, d.type_ab = d.type_d = DType::kF64; }));
  EXPECT_TRUE(refused([](MatmulDesc& d) { d.batch = 2; }));  // both results in one place
}

TEST_F(EmulatedMatmulTest, RefusesMissingOperands) {
  float* const x = Upload(std::vector<float>(16));
  ASSERT_OK_AND_ASSIGN(const auto plan, library_->Plan(Outer(2, 2), 1 << 20));
  EXPECT_FALSE(plan->Run(*stream_, {.a = x, .b = x, .d = x}).ok());  // no workspace
  EXPECT_FALSE(Run(Outer(2, 2), {.a = x, .b = x, .d = x, .bias = x}).ok());
  EXPECT_FALSE(Run(Outer(2, 2), {.a = x + 1, .b = x, .d = x}).ok());  // not aligned
}

}  // namespace
}  // namespace ampc
