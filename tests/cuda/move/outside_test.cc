// Numbers of an index that are out of range: nobody on the host sees them on a device, so the device code has an answer. On the
// emulated device, whose memory is the host's.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/cuda/index/index.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc::cuda {
namespace {

using ::testing::ElementsAre;

class Outside : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = NewEmulatedDevice(0);
    ASSERT_OK_AND_ASSIGN(stream_, device_->NewStream());
    at_.index = index_.data();
    at_.sizes[0] = 3;
  }
  void* stream() { return stream_->native(); }
  void Wait() { ASSERT_OK(stream_->Synchronize()); }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  const std::vector<int64_t> index_ = {2, -1, 3, 0};
  Positions at_;
};

TEST_F(Outside, AFloatThatIsTakenIsNaN) {
  const std::vector<float> x = {1, 2, 3};
  std::vector<float> out(4);
  ASSERT_EQ(LaunchTake(stream(), {at_, 1, 4, 3, 4, MissingValue(DType::kF32)}, x.data(), out.data()), 0);
  Wait();
  EXPECT_EQ(out[0], 3);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], 1);
}

TEST_F(Outside, AnIntegerThatIsTakenIsZero) {
  const std::vector<int32_t> x = {1, 2, 3};
  std::vector<int32_t> out(4, 9);
  ASSERT_EQ(LaunchTake(stream(), {at_, 1, 4, 3, 4, MissingValue(DType::kI32)}, x.data(), out.data()), 0);
  Wait();
  EXPECT_THAT(out, ElementsAre(3, 0, 0, 1));
}

TEST_F(Outside, TheNumberOfThePaddingTakesZero) {
  at_.padding = 2;
  const std::vector<float> x = {1, 2, 3};
  std::vector<float> out(4, 9);
  ASSERT_EQ(LaunchTake(stream(), {at_, 1, 4, 3, 4, MissingValue(DType::kF32)}, x.data(), out.data()), 0);
  Wait();
  EXPECT_EQ(out[0], 0);
}

TEST_F(Outside, HasAKeyThatNoSlotHas) {
  std::vector<uint32_t> keys(4);
  ASSERT_EQ(LaunchKeys(stream(), at_, 4, 3, keys.data()), 0);
  Wait();
  EXPECT_THAT(keys, ElementsAre(2, 3, 3, 0));
}

TEST_F(Outside, NothingIsAddedOrPut) {
  const std::vector<uint32_t> keys = {0, 2, 3, 3}, order = {3, 0, 1, 2};
  const std::vector<float> from = {1, 10, 100, 1000};
  std::vector<float> sums = {5, 5, 5, 7}, put = sums;
  const SortedRows rows{keys.data(), order.data(), 1, 3, 4, 1};
  ASSERT_EQ(LaunchSumRows(stream(), DType::kF32, rows, false, from.data(), sums.data(), nullptr), 0);
  SortedRows bytes = rows;
  bytes.width = sizeof(float);
  ASSERT_EQ(LaunchPutLast(stream(), bytes, from.data(), put.data()), 0);
  Wait();
  EXPECT_THAT(sums, ElementsAre(1005, 5, 6, 7));
  EXPECT_THAT(put, ElementsAre(1000, 5, 1, 7));
}

TEST_F(Outside, AlongAnAxisToo) {
  const AlongAxis along{index_.data(), DType::kI64, false, 1, 3, 4, 1};
  const std::vector<float> x = {1, 2, 3};
  std::vector<float> out(4);
  ASSERT_EQ(LaunchTakeAlong(stream(), along, 4, MissingValue(DType::kF32), x.data(), out.data()), 0);
  Wait();
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[3], 1);
}

}  // namespace
}  // namespace ampc::cuda
