#include "kernels/device/collectives.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "graph/base/half.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_collectives.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// A rank with its device, in a thread of its own.
struct Rank {
  Device& device;
  Stream& stream;
  Collectives& group;
};

void OnRanks(int size, const std::function<void(Rank)>& body) {
  CollectiveLibrary& library = EmulatedCollectives();
  ASSERT_OK_AND_ASSIGN(const CollectiveId id, library.NewId());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const std::shared_ptr<Device> device = NewEmulatedDevice(rank);
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream, device->NewStream());
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Collectives> group, library.Join(*device, id, rank, size));
      EXPECT_EQ(group->rank(), rank);
      EXPECT_EQ(group->size(), size);
      body({*device, *stream, *group});
      EXPECT_OK(group->Check());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <typename T>
std::vector<T> Reduced(Rank r, const std::vector<T>& mine, DType type, ReduceOp op) {
  std::vector<T> result(mine.size());
  const int64_t bytes = static_cast<int64_t>(mine.size() * sizeof(T));
  void* const memory = r.device.AllocateRaw(bytes).value();
  EXPECT_OK(r.stream.CopyToDevice(memory, mine.data(), bytes));
  const int64_t before = r.device.synchronizations();
  EXPECT_OK(r.group.AllReduce(memory, memory, static_cast<int64_t>(mine.size()), type, op, r.stream));
  EXPECT_EQ(r.device.synchronizations(), before);
  EXPECT_OK(r.stream.CopyToHost(result.data(), memory, bytes));
  r.device.FreeRaw(memory);
  return result;
}

TEST(Collectives, SumsOverRanksAgainAndAgain) {
  OnRanks(4, [](Rank r) {
    const float rank = static_cast<float>(r.group.rank());
    for (int i = 0; i < 50; ++i) {
      const float step = static_cast<float>(i);
      EXPECT_THAT(Reduced<float>(r, {rank, 0.5f, rank * step}, DType::kF32, ReduceOp::kSum), ElementsAre(6, 2, 6 * step));
    }
  });
}

TEST(Collectives, LargestAndOtherTypes) {
  OnRanks(3, [](Rank r) {
    const int rank = r.group.rank();
    EXPECT_THAT(Reduced<int32_t>(r, {rank, -rank}, DType::kI32, ReduceOp::kMax), ElementsAre(2, 0));
    EXPECT_THAT(Reduced<uint8_t>(r, {static_cast<uint8_t>(rank == 1), 0}, DType::kBool, ReduceOp::kMax), ElementsAre(1, 0));
    EXPECT_THAT(Reduced<Half>(r, {Half(1.0f), Half(40000.0f)}, DType::kF16, ReduceOp::kSum)[0].bits, Half(3.0f).bits);
  });
}

TEST(Collectives, BroadcastsFromOneRank) {
  OnRanks(3, [](Rank r) {
    float value = static_cast<float>(r.group.rank());
    void* const memory = r.device.AllocateRaw(4).value();
    ASSERT_OK(r.stream.CopyToDevice(memory, &value, 4));
    ASSERT_OK(r.group.Broadcast(memory, 4, 2, r.stream));
    ASSERT_OK(r.stream.CopyToHost(&value, memory, 4));
    EXPECT_EQ(value, 2);
    r.device.FreeRaw(memory);
  });
}

TEST(Collectives, BucketsOverlapOnAStreamOfTheirOwn) {
  OnRanks(2, [](Rank r) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> exchange, r.device.NewStream());
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> ready, r.device.NewEvent(false));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Event> reduced, r.device.NewEvent(false));
    uint8_t* const bytes = static_cast<uint8_t*>(r.device.AllocateRaw(2).value());
    ASSERT_OK(r.stream.BeginCapture());
    ASSERT_OK(r.stream.FillBytes(bytes, 3, 2));
    ASSERT_OK(r.stream.Record(*ready));
    ASSERT_OK(exchange->Wait(*ready));
    ASSERT_OK(r.group.GroupStart());
    ASSERT_OK(r.group.AllReduce(bytes, bytes, 1, DType::kU8, ReduceOp::kSum, *exchange));
    ASSERT_OK(r.group.AllReduce(bytes + 1, bytes + 1, 1, DType::kU8, ReduceOp::kMax, *exchange));
    ASSERT_OK(r.group.GroupEnd());
    ASSERT_OK(exchange->Record(*reduced));
    ASSERT_OK(r.stream.Wait(*reduced));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Graph> step, r.stream.EndCapture());
    for (int i = 0; i < 3; ++i) ASSERT_OK(step->Launch(r.stream));
    ASSERT_OK(r.stream.Synchronize());
    EXPECT_EQ(bytes[0], 6);
    EXPECT_EQ(bytes[1], 3);
    r.device.FreeRaw(bytes);
  });
}

TEST(Collectives, GroupsDoNotNest) {
  OnRanks(1, [](Rank r) {
    EXPECT_THAT(r.group.GroupEnd(), StatusIs(ExitCode::kInternal, HasSubstr("was not started")));
    ASSERT_OK(r.group.GroupStart());
    EXPECT_THAT(r.group.GroupStart(), StatusIs(ExitCode::kInternal, HasSubstr("inside of a group")));
  });
}

}  // namespace
}  // namespace ampc
