#include "graph/base/host_tensor.h"

#include <gtest/gtest.h>
#include <sys/sysinfo.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/size.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// No more than the machine has, which is less than its addresses.
TEST(MostBytes, IsTheMachinesMemory) {
  struct sysinfo info = {};
  ASSERT_EQ(sysinfo(&info), 0);
  EXPECT_LE(MostBytes(), static_cast<int64_t>((info.totalram + info.totalswap) * info.mem_unit));
  EXPECT_GT(MostBytes(), 0);
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({2, 3, 4}), 24);
  EXPECT_EQ(NumElements({2, 0, 4}), 0);
  EXPECT_EQ(NumElements({kHuge, 1}), kHuge);
}

TEST(Shape, RefusesUnknownAndOverflow) {
  EXPECT_EQ(NumElements({2, -1}), std::nullopt);
  EXPECT_EQ(NumElements({0, -1}), std::nullopt);
  EXPECT_EQ(NumElements({kHuge, 2}), std::nullopt);
  EXPECT_EQ(NumElements({0, kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(NumBytes(DType::kF16, {int64_t{1} << 62}), std::nullopt);
  EXPECT_EQ(NumBytes(DType::kU8, {int64_t{1} << 62}), int64_t{1} << 62);
  EXPECT_EQ(NumBytes(DType::kF32, {2, 3}), 24);
}

TEST(Shape, StridesAndText) {
  const auto strides = RowMajorStrides({2, 3, 4});
  EXPECT_EQ(std::vector<int64_t>(strides.begin(), strides.end()), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_TRUE(RowMajorStrides({}).empty());
  EXPECT_EQ(ShapeToString({2, -1, 4}), "[2, ?, 4]");
  EXPECT_EQ(ShapeToString({}), "[]");
}

TEST(HostTensorTest, BorrowsMemoryWithoutWritingIt) {
  const float lent[] = {1, 2, 3, 4, 5, 6};
  ASSERT_OK_AND_ASSIGN(HostTensor tensor, HostTensor::Borrow(DType::kF32, {2, 3}, lent));
  EXPECT_EQ(tensor.data(), lent);
  EXPECT_TRUE(tensor == HostTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const HostTensor copy = tensor;
  EXPECT_NE(copy.data(), lent);
  HostTensor moved = std::move(tensor);
  EXPECT_EQ(moved.data(), lent);
  moved.mutable_values<float>()[5] = 60;
  EXPECT_NE(moved.data(), lent);
  EXPECT_EQ(lent[5], 6);
  EXPECT_EQ(moved.values<float>()[5], 60);
  EXPECT_EQ(moved.values<float>()[4], 5);
}

TEST(HostTensorTest, WritesMemoryThatItMayWrite) {
  std::vector<int64_t> lent = {1, 2};
  ASSERT_OK_AND_ASSIGN(HostTensor tensor, HostTensor::BorrowMutable(DType::kI64, {2}, lent.data()));
  HostTensor copy = tensor;
  tensor.mutable_values<int64_t>()[0] = 10;
  copy.mutable_values<int64_t>()[1] = 20;
  EXPECT_EQ(lent, (std::vector<int64_t>{10, 2}));
  tensor = copy;
  EXPECT_EQ(lent, (std::vector<int64_t>{10, 2}));
  EXPECT_NE(tensor.data(), lent.data());
}

TEST(HostTensorTest, RefusesMemoryThatHoldsNoSuchElements) {
  alignas(8) const char lent[24] = {};
  EXPECT_EQ(ExitCodeOf(HostTensor::Borrow(DType::kF32, {2}, nullptr).status()), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(HostTensor::Borrow(DType::kF32, {2}, lent + 1).status()), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(HostTensor::Borrow(DType::kF32, {kHuge, 2}, lent).status()), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(HostTensor::Borrow(DType::kInvalid, {2}, lent).status()), ExitCode::kUsage);
  EXPECT_OK(HostTensor::Borrow(DType::kF32, {0, 2}, nullptr).status());
  EXPECT_OK(HostTensor::Borrow(DType::kC128, {1}, lent + 8).status());  // two numbers of 8 bytes
}

TEST(HostTensorTest, CreateGivesAlignedZeros) {
  for (int64_t n : {1, 7, 1000}) {
    const absl::StatusOr<HostTensor> tensor = HostTensor::Create(DType::kF32, {n, 2});
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
    EXPECT_EQ(tensor->num_elements(), 2 * n);
    EXPECT_EQ(tensor->size_bytes(), static_cast<size_t>(8 * n));
    for (const float value : tensor->values<float>()) EXPECT_EQ(value, 0.0f);
  }
}

TEST(HostTensorTest, ValuesNeedTheRightType) {
  const HostTensor tensor = HostTensor::Of<int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensor.dtype(), DType::kI32);
  EXPECT_EQ(tensor.rank(), 2);
  EXPECT_EQ(tensor.values<int32_t>().size(), 4u);
  EXPECT_EQ(tensor.values<int32_t>()[3], 4);
  EXPECT_TRUE(tensor.values<float>().empty());
}

TEST(HostTensorTest, ScalarAndEmpty) {
  const HostTensor scalar = HostTensor::Of<float>({}, {2.5f});
  EXPECT_EQ(scalar.num_elements(), 1);
  EXPECT_EQ(scalar.values<float>()[0], 2.5f);
  const HostTensor empty = HostTensor::Of<float>({0, 3}, {});
  EXPECT_EQ(empty.num_elements(), 0);
  EXPECT_EQ(empty.bytes().size(), 0u);
  EXPECT_EQ(empty, HostTensor(empty));
  EXPECT_FALSE(empty == HostTensor());
}

TEST(HostTensorTest, CopiesAreIndependentAndMovesKeepTheBytes) {
  HostTensor first = HostTensor::Of<float>({2}, {1, 2});
  HostTensor copy = first;
  copy.mutable_values<float>()[0] = 9;
  EXPECT_EQ(first.values<float>()[0], 1.0f);
  const void* address = first.data();
  HostTensor moved = std::move(first);
  EXPECT_EQ(moved.data(), address);
  copy = moved;
  EXPECT_EQ(copy, moved);
}

TEST(HostTensorTest, EqualityComparesBits) {
  EXPECT_EQ(HostTensor::Of<float>({1}, {NAN}), HostTensor::Of<float>({1}, {NAN}));
  EXPECT_FALSE(HostTensor::Of<float>({1}, {0.0f}) == HostTensor::Of<float>({1}, {-0.0f}));
  EXPECT_FALSE(HostTensor::Of<float>({1}, {0.0f}) == HostTensor::Of<int32_t>({1}, {0}));
  EXPECT_FALSE(HostTensor::Of<float>({1, 2}, {0, 0}) == HostTensor::Of<float>({2, 1}, {0, 0}));
}

TEST(HostTensorTest, ReshapeKeepsTheCount) {
  HostTensor tensor = HostTensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(tensor.Reshape({3, 2}).ok());
  EXPECT_EQ(tensor.dims()[0], 3);
  EXPECT_EQ(tensor.Reshape({4}).message(), "reshape of [3, 2] to [4]: needs the same number of elements, 6");
  EXPECT_EQ(tensor.dims()[0], 3);
}

TEST(HostTensorTest, RefusesWhatCannotBe) {
  EXPECT_EQ(ExitCodeOf(HostTensor::Create(DType::kInvalid, {1}).status()), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(HostTensor::Create(DType::kF32, {-1}).status()), ExitCode::kUsage);
  EXPECT_EQ(HostTensor::Create(DType::kF32, {kHuge}).status().message(),
            "tensor of shape [9223372036854775807]: needs known dimensions and less than 2^63 bytes");
  EXPECT_EQ(ExitCodeOf(HostTensor::CreateUninitialized(DType::kU8, {kHuge}).status()), ExitCode::kInternal);
}

}  // namespace
}  // namespace ampc
