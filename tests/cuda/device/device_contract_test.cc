// The contract of every device: the emulated one, and cuda:0 where there is one.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/pinned_ring.h"
#include "tests/cuda/device_under_test.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr int64_t kBytes = 1 << 20;

class DeviceContract : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::shared_ptr<Device>> device = testing::DeviceUnderTest();
    if (ExitCodeOf(device.status()) == ExitCode::kUnsupported) GTEST_SKIP() << device.status().message();
    ASSERT_OK(device);
    device_ = *device;
    ASSERT_OK_AND_ASSIGN(a_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(b_, device_->NewStream());
    for (DeviceBuffer* buffer : {&x_, &y_}) {
      ASSERT_OK_AND_ASSIGN(*buffer, device_->allocator().Allocate(kBytes, *a_, "test"));
    }
    ASSERT_OK_AND_ASSIGN(pinned_, device_->AllocatePinned(kBytes));
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    x_ = DeviceBuffer();
    y_ = DeviceBuffer();
    device_->FreePinned(pinned_);
  }
  std::unique_ptr<Event> NewEvent(bool timing = false) { return device_->NewEvent(timing).value(); }
  std::vector<unsigned char> Read(const DeviceBuffer& from, Stream& stream) {
    std::vector<unsigned char> host(static_cast<size_t>(from.bytes()));
    EXPECT_OK(stream.CopyToHost(host.data(), from.data(), from.bytes()));
    return host;
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> a_, b_;
  DeviceBuffer x_, y_;
  void* pinned_ = nullptr;
};

TEST_F(DeviceContract, SaysWhatItIs) {
  const DeviceInfo& info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.major * 10 + info.minor, 75);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory_bytes, kBytes);
  EXPECT_EQ(&a_->device(), device_.get());
}

TEST_F(DeviceContract, CopiesOfPinnedMemoryDoNotWait) {
  const int64_t before = device_->synchronizations();
  std::memset(pinned_, 7, kBytes);
  ASSERT_OK(a_->CopyToDevice(x_.data(), pinned_, kBytes));
  ASSERT_OK(a_->CopyOnDevice(y_.data(), x_.data(), kBytes));
  ASSERT_OK(a_->FillBytes(x_.data(), 9, kBytes));
  ASSERT_OK(a_->CopyToHost(pinned_, y_.data(), kBytes));
  EXPECT_EQ(device_->synchronizations(), before);
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(device_->synchronizations(), before + 1);
  const auto* bytes = static_cast<const unsigned char*>(pinned_);
  EXPECT_THAT(std::vector<int>(bytes, bytes + kBytes), Each(7));
  EXPECT_THAT(Read(x_, *a_), Each(9));
}

TEST_F(DeviceContract, CopiesOfOtherMemoryAreDoneWhenTheyReturn) {
  const int64_t before = device_->synchronizations();
  std::vector<unsigned char> host(kBytes, 5);
  ASSERT_OK(a_->CopyToDevice(x_.data(), host.data(), kBytes));
  host.assign(kBytes, 6);
  EXPECT_THAT(Read(x_, *a_), Each(5));
  EXPECT_EQ(device_->synchronizations(), before + 2);
}

TEST_F(DeviceContract, NoBytesAreNoCopy) {
  EXPECT_OK(a_->CopyToDevice(nullptr, nullptr, 0));
  EXPECT_OK(a_->CopyOnDevice(nullptr, nullptr, 0));
  EXPECT_OK(a_->FillBytes(nullptr, 0, 0));
  ASSERT_OK_AND_ASSIGN(void* const nothing, device_->AllocateRaw(0));
  EXPECT_EQ(nothing, nullptr);
  device_->FreeRaw(nullptr);
}

TEST_F(DeviceContract, AnEventOrdersStreams) {
  const std::unique_ptr<Event> written = NewEvent();
  ASSERT_OK_AND_ASSIGN(bool done, written->Done());
  EXPECT_TRUE(done) << "before the first Record";
  for (int i = 0; i < 20; ++i) ASSERT_OK(a_->FillBytes(x_.data(), i, kBytes));
  ASSERT_OK(a_->Record(*written));
  ASSERT_OK(b_->Wait(*written));
  ASSERT_OK(b_->CopyOnDevice(y_.data(), x_.data(), kBytes));
  EXPECT_THAT(Read(y_, *b_), Each(19));
  ASSERT_OK_AND_ASSIGN(done, written->Done());
  EXPECT_TRUE(done);
}

TEST_F(DeviceContract, EventsTellTheTimeBetweenThem) {
  const std::unique_ptr<Event> first = NewEvent(true), last = NewEvent(true);
  ASSERT_OK(a_->Record(*first));
  ASSERT_OK(a_->FillBytes(x_.data(), 1, kBytes));
  ASSERT_OK(a_->Record(*last));
  ASSERT_OK(last->Synchronize());
  ASSERT_OK_AND_ASSIGN(const double milliseconds, last->MillisecondsSince(*first));
  EXPECT_GE(milliseconds, 0);
  EXPECT_LT(milliseconds, 60000);
}

TEST_F(DeviceContract, AGraphForksJoinsAndIsReplayed) {
  const std::unique_ptr<Event> fork = NewEvent(), join = NewEvent();
  ASSERT_OK(a_->FillBytes(x_.data(), 0, kBytes));
  ASSERT_OK(a_->FillBytes(y_.data(), 0, kBytes));
  ASSERT_OK(a_->Synchronize());
  ASSERT_OK(a_->BeginCapture());
  ASSERT_OK(a_->CopyToDevice(x_.data(), pinned_, kBytes));
  ASSERT_OK(a_->Record(*fork));
  ASSERT_OK(b_->Wait(*fork));
  ASSERT_OK(b_->CopyOnDevice(y_.data(), x_.data(), kBytes));
  ASSERT_OK(b_->Record(*join));
  ASSERT_OK(a_->Wait(*join));
  ASSERT_OK(a_->FillBytes(x_.data(), 1, kBytes));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, a_->EndCapture());
  EXPECT_THAT(Read(y_, *a_), Each(0));
  for (const int value : {3, 4}) {
    std::memset(pinned_, value, kBytes);
    ASSERT_OK(graph->Launch(*a_));
    EXPECT_THAT(Read(y_, *a_), Each(value));
    EXPECT_THAT(Read(x_, *a_), Each(1));
  }
}

TEST_F(DeviceContract, ACaptureRefusesToWait) {
  std::vector<char> host(4);
  ASSERT_OK(a_->BeginCapture());
  EXPECT_THAT(a_->CopyToDevice(x_.data(), host.data(), 4), StatusIs(ExitCode::kInternal, HasSubstr("not pinned")));
  EXPECT_FALSE(a_->Synchronize().ok());
  EXPECT_FALSE(a_->EndCapture().ok());
  ASSERT_OK(a_->FillBytes(x_.data(), 2, kBytes)) << "the stream goes on";
  EXPECT_THAT(Read(x_, *a_), Each(2));
}

TEST_F(DeviceContract, TooMuchMemoryIsOneSentence) {
  const absl::StatusOr<DeviceBuffer> huge = device_->allocator().Allocate(int64_t{1} << 50, *a_, "huge");
  EXPECT_TRUE(absl::IsResourceExhausted(huge.status())) << huge.status();
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("huge: no 1125899906842624 bytes of memory are left on " + device_->name()));
  EXPECT_OK(a_->FillBytes(x_.data(), 0, kBytes)) << "later calls do not see the error";
  EXPECT_OK(a_->Synchronize());
}

TEST_F(DeviceContract, LaunchesReportTheirErrors) {
  EXPECT_OK(device_->LaunchStatus(0, "x"));
  EXPECT_THAT(device_->LaunchStatus(1, "x"), StatusIs(ExitCode::kInternal, HasSubstr("kernel x: ")));
}

TEST_F(DeviceContract, ARingStagesManyFeeds) {
  PinnedRing ring(*device_, 3);
  const int64_t part = kBytes / 256;
  for (int i = 0; i < 256; ++i) {
    ASSERT_OK_AND_ASSIGN(const PinnedRing::Slot slot, ring.Acquire(part));
    std::memset(slot.data, i, static_cast<size_t>(part));
    ASSERT_OK(a_->CopyToDevice(static_cast<char*>(x_.data()) + i * part, slot.data, part));
    ASSERT_OK(ring.Release(slot, *a_));
  }
  const std::vector<unsigned char> read = Read(x_, *a_);
  for (size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], i / static_cast<size_t>(part));
}

TEST_F(DeviceContract, MemoryGoesFromStreamToStream) {
  const int64_t allocations = device_->allocator().stats().driver_allocations;
  for (int i = 0; i < 10; ++i) {
    Stream& stream = i % 2 == 0 ? *a_ : *b_;
    ASSERT_OK_AND_ASSIGN(const DeviceBuffer buffer, device_->allocator().Allocate(8 << 20, stream, "buffer"));
    ASSERT_OK(stream.FillBytes(buffer.data(), i, buffer.bytes()));
    ASSERT_OK(stream.Synchronize());
  }
  EXPECT_LE(device_->allocator().stats().driver_allocations, allocations + 2);
}

}  // namespace
}  // namespace ampc
