#include "kernels/device/allocator.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

class AllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(int64_t{8} << 30); }
  void Open(int64_t memory_bytes) {
    a_.reset();
    b_.reset();
    device_ = NewEmulatedDevice(0, memory_bytes);
    ASSERT_OK_AND_ASSIGN(a_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(b_, device_->NewStream());
  }
  CachingAllocator& allocator() { return device_->allocator(); }
  DeviceBuffer Get(int64_t bytes, Stream& stream) {
    absl::StatusOr<DeviceBuffer> buffer = allocator().Allocate(bytes, stream, "test");
    EXPECT_OK(buffer);
    return buffer.ok() ? *std::move(buffer) : DeviceBuffer();
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> a_, b_;
};

TEST_F(AllocatorTest, NothingIsNoMemory) {
  const DeviceBuffer buffer = Get(0, *a_);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(allocator().stats().driver_allocations, 0);
  EXPECT_THAT(allocator().Allocate(-1, *a_, "x"), testing::StatusIs(ExitCode::kInternal, HasSubstr("x: -1 bytes")));
}

TEST_F(AllocatorTest, SmallBuffersShareASegment) {
  const DeviceBuffer x = Get(100, *a_), y = Get(kMiB, *a_);
  EXPECT_EQ(x.bytes(), 100);
  EXPECT_NE(x.data(), y.data());
  const AllocatorStats stats = allocator().stats();
  EXPECT_EQ(stats.driver_allocations, 1);
  EXPECT_EQ(stats.in_use_bytes, kMiB + 512);
  EXPECT_EQ(stats.reserved_bytes, 2 * kMiB);
}

TEST_F(AllocatorTest, FreedMemoryGoesToTheStreamsNextAllocation) {
  DeviceBuffer x = Get(5 * kMiB, *a_);
  const void* const data = x.data();
  ASSERT_OK(a_->FillBytes(x.data(), 1, x.bytes()));
  x = DeviceBuffer();
  EXPECT_EQ(allocator().stats().in_use_bytes, 0);
  x = Get(5 * kMiB, *a_);
  EXPECT_EQ(x.data(), data);
  EXPECT_EQ(allocator().stats().driver_allocations, 1);
  EXPECT_EQ(allocator().stats().peak_in_use_bytes, 5 * kMiB);
}

TEST_F(AllocatorTest, AnotherStreamGetsItOnlyWhenNothingIsLeftToRun) {
  DeviceBuffer x = Get(5 * kMiB, *a_);
  const void* const data = x.data();
  ASSERT_OK(a_->FillBytes(x.data(), 1, x.bytes()));
  x = DeviceBuffer();
  const DeviceBuffer y = Get(5 * kMiB, *b_);
  EXPECT_NE(y.data(), data);
  ASSERT_OK(a_->Synchronize());
  const DeviceBuffer z = Get(5 * kMiB, *b_);
  EXPECT_EQ(z.data(), data);
  EXPECT_EQ(allocator().stats().driver_allocations, 2);
}

TEST_F(AllocatorTest, AStreamThatEndsLeavesItsMemoryToOthers) {
  DeviceBuffer x = Get(5 * kMiB, *a_), y = Get(5 * kMiB, *a_);
  const void *const free_before = x.data(), *const free_after = y.data();
  x = DeviceBuffer();
  a_.reset();
  y = DeviceBuffer();
  const DeviceBuffer u = Get(5 * kMiB, *b_), v = Get(5 * kMiB, *b_);
  EXPECT_TRUE((u.data() == free_before && v.data() == free_after) || (u.data() == free_after && v.data() == free_before));
}

TEST_F(AllocatorTest, NeighboursMergeAndTheBestFitIsTaken) {
  std::vector<DeviceBuffer> parts;
  DeviceBuffer whole = Get(16 * kMiB, *a_);
  char* const base = static_cast<char*>(whole.data());
  whole = DeviceBuffer();
  for (int i = 0; i < 8; ++i) parts.push_back(Get(2 * kMiB, *a_));
  EXPECT_EQ(allocator().stats().driver_allocations, 1);
  // Holes of 6, 2 and 4 MiB: 2 MiB take the middle one, 3 MiB the last.
  for (const size_t i : {0, 2, 1, 4, 7, 6}) parts[i] = DeviceBuffer();
  const DeviceBuffer two = Get(2 * kMiB, *a_), three = Get(3 * kMiB, *a_), six = Get(6 * kMiB, *a_);
  EXPECT_EQ(two.data(), base + 8 * kMiB);
  EXPECT_EQ(three.data(), base + 12 * kMiB);
  EXPECT_EQ(six.data(), base);
  EXPECT_EQ(allocator().stats().driver_allocations, 1);
}

TEST_F(AllocatorTest, NeighboursOfDifferentStreamsMergeWhenBothAreIdle) {
  std::unique_ptr<Stream> c;
  ASSERT_OK_AND_ASSIGN(c, device_->NewStream());
  Get(4 * kMiB, *a_);
  ASSERT_OK(a_->Synchronize());
  DeviceBuffer x = Get(2 * kMiB, *a_), y = Get(2 * kMiB, *b_);
  const void* const base = std::min(x.data(), y.data());
  EXPECT_EQ(allocator().stats().driver_allocations, 1);
  x = DeviceBuffer();
  y = DeviceBuffer();
  ASSERT_OK(a_->Synchronize());
  ASSERT_OK(b_->Synchronize());
  EXPECT_EQ(Get(4 * kMiB, *c).data(), base);
  EXPECT_EQ(allocator().stats().driver_allocations, 1);
}

TEST_F(AllocatorTest, ReleaseCachedGivesBackWhatIsNotInUse) {
  DeviceBuffer x = Get(4 * kMiB, *a_);
  const DeviceBuffer y = Get(6 * kMiB, *a_);
  x = DeviceBuffer();
  allocator().ReleaseCached();
  EXPECT_EQ(allocator().stats().reserved_bytes, 6 * kMiB);
  EXPECT_EQ(allocator().stats().in_use_bytes, 6 * kMiB);
}

TEST_F(AllocatorTest, OutOfMemoryGivesBackCachesAndTriesAgain) {
  Open(10 * kMiB);
  Get(6 * kMiB, *a_);
  const DeviceBuffer x = Get(8 * kMiB, *a_);
  EXPECT_EQ(x.bytes(), 8 * kMiB);
  EXPECT_EQ(allocator().stats().reserved_bytes, 8 * kMiB);
  EXPECT_EQ(allocator().stats().driver_allocations, 2);
}

TEST_F(AllocatorTest, OutOfMemoryIsOneSentence) {
  Open(10 * kMiB);
  const DeviceBuffer x = Get(8 * kMiB, *a_);
  const absl::StatusOr<DeviceBuffer> y = allocator().Allocate(4 * kMiB, *a_, "tensor 'y'");
  EXPECT_TRUE(absl::IsResourceExhausted(y.status()));
  EXPECT_EQ(y.status().message(),
            "tensor 'y': no 4194304 bytes of memory are left on emulated:0, where 8388608 bytes are in use, 0 more lie between them, and "
            "the device has "
            "10485760 bytes");
  EXPECT_TRUE(absl::IsResourceExhausted(allocator().Allocate(int64_t{1} << 62, *a_, "huge").status()));
}

TEST_F(AllocatorTest, LimitCountsWhatIsInUseAndCached) {
  allocator().SetLimit(8 * kMiB);
  DeviceBuffer x = Get(5 * kMiB, *a_);
  const absl::StatusOr<DeviceBuffer> y = allocator().Allocate(5 * kMiB, *a_, "y");
  EXPECT_TRUE(absl::IsResourceExhausted(y.status()));
  EXPECT_THAT(std::string(y.status().message()),
              AllOf(HasSubstr("5242880 bytes are in use, 1048576 more"), HasSubstr("the limit is 8388608 bytes")))
      << y.status();
  x = DeviceBuffer();
  const DeviceBuffer z = Get(7 * kMiB, *a_);  // a segment of 8 MiB
  EXPECT_EQ(z.bytes(), 7 * kMiB);
  allocator().SetLimit(0);
  EXPECT_EQ(Get(5 * kMiB, *a_).bytes(), 5 * kMiB);
}

TEST_F(AllocatorTest, ALimitBelowASegmentIsUsedUp) {
  allocator().SetLimit(kMiB);
  const DeviceBuffer x = Get(kMiB / 2, *a_), y = Get(kMiB / 2, *a_);
  EXPECT_EQ(allocator().stats().reserved_bytes, kMiB);
  EXPECT_FALSE(allocator().Allocate(1, *a_, "z").ok());
}

// Every thread has its stream and writes its mark into its buffers; nobody else's may appear in them.
TEST_F(AllocatorTest, ManyThreadsAndStreamsKeepTheirMemoryApart) {
  const auto work = [&](int mark) {
    absl::StatusOr<std::unique_ptr<Stream>> stream = device_->NewStream();
    ASSERT_OK(stream);
    std::mt19937 random(static_cast<unsigned>(mark));
    std::vector<DeviceBuffer> held;
    for (int i = 0; i < 300; ++i) {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % (random() % 8 == 0 ? 3 * kMiB : 8000));
      absl::StatusOr<DeviceBuffer> buffer = allocator().Allocate(bytes, **stream, "part");
      ASSERT_OK(buffer);
      ASSERT_OK((*stream)->FillBytes(buffer->data(), mark, bytes));
      held.push_back(*std::move(buffer));
      if (held.size() < 8) continue;
      const size_t out = random() % held.size();
      ASSERT_OK((*stream)->Synchronize());
      const char* const data = static_cast<const char*>(held[out].data());
      ASSERT_EQ(std::count(data, data + held[out].bytes(), static_cast<char>(mark)), held[out].bytes());
      held.erase(held.begin() + static_cast<int64_t>(out));
    }
  };
  std::vector<std::thread> threads;
  for (int mark = 1; mark <= 6; ++mark) threads.emplace_back(work, mark);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator().stats().in_use_bytes, 0);
  allocator().ReleaseCached();
  EXPECT_EQ(allocator().stats().reserved_bytes, 0);
}

}  // namespace
}  // namespace ampc
