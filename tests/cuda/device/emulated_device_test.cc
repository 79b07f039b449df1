#include "kernels/device/emulated/emulated_device.h"

#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cuda/launch/launch.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/pinned_ring.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class EmulatedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = NewEmulatedDevice(0);
    ASSERT_OK_AND_ASSIGN(a_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(b_, device_->NewStream());
    ASSERT_OK_AND_ASSIGN(event_, device_->NewEvent(false));
    ASSERT_OK_AND_ASSIGN(back_, device_->NewEvent(false));
    for (int** p : {&x_, &y_}) {
      ASSERT_OK_AND_ASSIGN(void* memory, device_->AllocateRaw(4));
      *p = static_cast<int*>(memory);
    }
  }
  void TearDown() override {
    device_->FreeRaw(x_);
    device_->FreeRaw(y_);
  }
  static void Set(Stream& stream, int* to, int value) {
    EXPECT_EQ(cuda::ForEach(stream.native(), 1, [=](int64_t) { *to = value; }), 0);
  }
  static void Add(Stream& stream, int* to, const int* from, int value) {
    EXPECT_EQ(cuda::ForEach(stream.native(), 1, [=](int64_t) { *to = *from + value; }), 0);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> a_, b_;
  std::unique_ptr<Event> event_, back_;
  int *x_ = nullptr, *y_ = nullptr;
};

TEST_F(EmulatedDeviceTest, WorkRunsWhenSomebodyWaitsForIt) {
  Set(*a_, x_, 1);
  Set(*b_, y_, 2);
  EXPECT_NE(*x_, 1);
  ASSERT_OK(b_->Synchronize());
  EXPECT_EQ(*y_, 2);
  EXPECT_NE(*x_, 1) << "the other stream has not been waited for";
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(*x_, 1);
  EXPECT_EQ(device_->synchronizations(), 2);
}

TEST_F(EmulatedDeviceTest, AForgottenWaitShows) {
  Set(*a_, x_, 1);
  Add(*b_, y_, x_, 1);
  ASSERT_OK(b_->Synchronize());
  EXPECT_NE(*y_, 2);
}

TEST_F(EmulatedDeviceTest, AnEventOrdersStreams) {
  ASSERT_OK(b_->Wait(*event_)) << "not recorded: no wait";
  Set(*a_, x_, 1);
  ASSERT_OK(a_->Record(*event_));
  Set(*a_, x_, 5);
  ASSERT_OK(b_->Wait(*event_));
  Add(*b_, y_, x_, 1);
  ASSERT_OK(b_->Synchronize());
  EXPECT_EQ(*y_, 2) << "up to the event, not further";
  ASSERT_OK_AND_ASSIGN(const bool done, event_->Done());
  EXPECT_TRUE(done);
}

TEST_F(EmulatedDeviceTest, EventsTellTheTimeBetweenThem) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> first, device_->NewEvent(true));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> last, device_->NewEvent(true));
  ASSERT_OK(a_->Record(*first));
  ASSERT_OK(a_->Record(*last));
  EXPECT_THAT(last->MillisecondsSince(*first), StatusIs(ExitCode::kInternal, HasSubstr("not recorded and done")));
  ASSERT_OK(last->Synchronize());
  ASSERT_OK_AND_ASSIGN(const double time, last->MillisecondsSince(*first));
  EXPECT_GE(time, 0);
  EXPECT_THAT(event_->MillisecondsSince(*first), StatusIs(ExitCode::kInternal, HasSubstr("without timing")));
}

TEST_F(EmulatedDeviceTest, AGraphRunsOnTwoStreamsAndAgain) {
  Set(*a_, x_, 0);
  ASSERT_OK(a_->BeginCapture());
  Add(*a_, x_, x_, 1);
  ASSERT_OK(a_->Record(*event_));
  ASSERT_OK(b_->Wait(*event_));
  Add(*b_, y_, x_, 10);
  ASSERT_OK(b_->Record(*back_));
  ASSERT_OK(a_->Wait(*back_));
  Add(*a_, x_, y_, 100);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> graph, a_->EndCapture());
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(*x_, 0) << "captured work does not run";
  ASSERT_OK(graph->Launch(*a_));
  ASSERT_OK(graph->Launch(*a_));
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(*x_, 222);
  Set(*b_, y_, 7);
  ASSERT_OK(b_->Synchronize());
  EXPECT_EQ(*y_, 7) << "the capture is over for the other stream too";
}

TEST_F(EmulatedDeviceTest, WorkThatIsNotJoinedSpoilsACapture) {
  ASSERT_OK(a_->BeginCapture());
  ASSERT_OK(a_->Record(*event_));
  ASSERT_OK(b_->Wait(*event_));
  Set(*b_, y_, 1);
  EXPECT_THAT(a_->EndCapture(), StatusIs(ExitCode::kInternal, HasSubstr("has waited for the other streams")));
}

TEST_F(EmulatedDeviceTest, WaitingSpoilsACapture) {
  std::vector<char> host(4);
  const auto spoils = [&](auto call, const char* message) {
    ASSERT_OK(a_->BeginCapture());
    EXPECT_THAT(call(), StatusIs(ExitCode::kInternal, HasSubstr(message)));
    EXPECT_THAT(a_->EndCapture(), StatusIs(ExitCode::kInternal, HasSubstr(message)));
  };
  spoils([&] { return a_->Synchronize(); }, "waits for a stream");
  spoils([&] { return b_->Synchronize(); }, "waits for a stream");
  spoils([&] { return event_->Synchronize(); }, "waits for an event");
  spoils([&] { return a_->CopyToDevice(x_, host.data(), 4); }, "not pinned");
  spoils([&] { return device_->AllocateRaw(4).status(); }, "allocated by the driver");
  EXPECT_THAT(a_->EndCapture(), StatusIs(ExitCode::kInternal, HasSubstr("no capture")));
}

TEST_F(EmulatedDeviceTest, CapturesSeeOnlyTheirOwnEvents) {
  ASSERT_OK(b_->Record(*event_));
  ASSERT_OK(a_->BeginCapture());
  EXPECT_THAT(a_->Wait(*event_), StatusIs(ExitCode::kInternal, HasSubstr("outside of the capture")));
  ASSERT_OK(a_->Record(*back_));
  EXPECT_THAT(back_->Done(), StatusIs(ExitCode::kInternal, HasSubstr("recorded in a capture")));
  ASSERT_OK(a_->EndCapture());
  EXPECT_THAT(b_->Wait(*back_), StatusIs(ExitCode::kInternal, HasSubstr("recorded in a capture")));
}

TEST_F(EmulatedDeviceTest, CopiesOfOtherMemoryAreRefused) {
  int host = 0;
  EXPECT_THAT(a_->CopyOnDevice(x_, &host, 4), StatusIs(ExitCode::kInternal, HasSubstr("not all in one piece of the device's memory")));
  EXPECT_THAT(a_->CopyToHost(&host, x_, 5), StatusIs(ExitCode::kInternal, HasSubstr("5 bytes")));
  EXPECT_THAT(a_->FillBytes(&host, 0, 4), StatusIs(ExitCode::kInternal, HasSubstr("fill of 4 bytes")));
}

TEST_F(EmulatedDeviceTest, PinnedCopiesAreLazyOthersWait) {
  int host = 3;
  ASSERT_OK(a_->CopyToDevice(x_, &host, 4));
  EXPECT_EQ(*x_, 3);
  EXPECT_EQ(device_->synchronizations(), 1);
  ASSERT_OK_AND_ASSIGN(void* pinned, device_->AllocatePinned(4));
  *static_cast<int*>(pinned) = 4;
  ASSERT_OK(a_->CopyToDevice(x_, pinned, 4));
  EXPECT_EQ(*x_, 3);
  *static_cast<int*>(pinned) = 5;  // too early
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(*x_, 5);
  EXPECT_EQ(device_->synchronizations(), 2);
  device_->FreePinned(pinned);
}

TEST_F(EmulatedDeviceTest, AFreedBufferIsPoisonedBehindTheStreamsWork) {
  ASSERT_OK_AND_ASSIGN(DeviceBuffer buffer, device_->allocator().Allocate(4, *a_, "buffer"));
  int* const data = static_cast<int*>(buffer.data());
  Set(*a_, data, 1);
  Add(*a_, x_, data, 0);
  buffer = DeviceBuffer();
  Add(*a_, y_, data, 0);  // a use after free
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(*x_, 1);
  EXPECT_NE(*y_, 1);
}

TEST_F(EmulatedDeviceTest, ARingHandsOutAsManySlotsWithoutWaiting) {
  PinnedRing ring(*device_, 2);
  SetEmulatedDelay(*device_, 1000);  // the device is slow
  std::vector<void*> slots;
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const PinnedRing::Slot slot, ring.Acquire(4));
    EXPECT_EQ(ring.waits(), std::max(0, i - 1));
    slots.push_back(slot.data);
    std::memcpy(slot.data, &i, 4);
    ASSERT_OK(a_->CopyToDevice(x_, slot.data, 4));
    Add(*a_, y_, x_, 0);
    ASSERT_OK(ring.Release(slot, *a_));
  }
  EXPECT_EQ(device_->synchronizations(), 3);
  EXPECT_EQ(slots[0], slots[2]);
  EXPECT_NE(slots[0], slots[1]);
  ASSERT_OK(a_->Synchronize());
  EXPECT_EQ(*y_, 4);
}

TEST_F(EmulatedDeviceTest, ARingDoesNotWaitForADeviceThatIsDone) {
  PinnedRing ring(*device_, 1);
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(const PinnedRing::Slot slot, ring.Acquire(4));
    std::memcpy(slot.data, &i, 4);
    ASSERT_OK(a_->CopyToDevice(x_, slot.data, 4));
    ASSERT_OK(ring.Release(slot, *a_));
  }
  EXPECT_EQ(ring.waits(), 0);
  EXPECT_EQ(device_->synchronizations(), 0);
}

TEST_F(EmulatedDeviceTest, ARingsSlotGrowsAndIsReleasedBetweenUses) {
  PinnedRing ring(*device_, 1);
  ASSERT_OK_AND_ASSIGN(PinnedRing::Slot slot, ring.Acquire(4));
  EXPECT_THAT(ring.Acquire(4), StatusIs(ExitCode::kInternal, HasSubstr("slot 0 of 1 is acquired again")));
  ASSERT_OK(ring.Release(slot, *a_));
  ASSERT_OK_AND_ASSIGN(slot, ring.Acquire(4000));
  EXPECT_EQ(slot.bytes, 4000);
  std::memset(slot.data, 1, 4000);
}

}  // namespace
}  // namespace ampc
