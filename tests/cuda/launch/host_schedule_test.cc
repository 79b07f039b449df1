// Faults that depend on the order of a device's threads, and those of a team's threads, show on the emulated device.
#include "kernels/cuda/launch/host_schedule.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/cuda/launch/launch.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/testlib/status.h"

namespace ampc::cuda {
namespace {

using ::ampc::testing::StatusIs;
using ::testing::HasSubstr;
using Order = HostSchedule::Order;

class Schedule : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(stream_, device_->NewStream()); }
  ~Schedule() override { SetHostSchedule({}); }

  // x[i] = i of n by ForEach, whose items append what they are to `order`.
  std::vector<int64_t> OrderOf(int64_t n) {
    std::vector<int64_t> order;
    EXPECT_EQ(ForEach(stream_->native(), n, [&order](int64_t i) { order.push_back(i); }), 0);
    EXPECT_OK(stream_->Synchronize());
    return order;
  }
  // The stream's status after f run by `teams` real teams whose loops have `work` items.
  template <class F>
  absl::Status RunTeams(int64_t teams, int64_t work, int shared_bytes, F f) {
    SetHostSchedule({.order = Order::kRandom, .seed = 7, .real_teams = true});
    EXPECT_EQ(ForEachTeam(stream_->native(), teams, work, f, shared_bytes), 0);
    return stream_->Synchronize();
  }

  const std::shared_ptr<Device> device_ = NewEmulatedDevice(0);
  std::unique_ptr<Stream> stream_;
};

std::vector<int64_t> Ascending(int64_t n) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

TEST_F(Schedule, EachItemRunsOnceInItsOrder) {
  for (const int64_t n : {0, 1, 2, 3, 7, 64, 1000}) {
    SCOPED_TRACE(n);
    SetHostSchedule({});
    EXPECT_EQ(OrderOf(n), Ascending(n));
    SetHostSchedule({.order = Order::kReversed});
    std::vector<int64_t> reversed = OrderOf(n);
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(reversed, Ascending(n));
    for (uint64_t seed = 0; seed < 50; ++seed) {
      SetHostSchedule({.order = Order::kRandom, .seed = seed});
      std::vector<int64_t> random = OrderOf(n);
      if (n == 1000 && seed > 0) {
        EXPECT_NE(random, Ascending(n));
      }
      std::sort(random.begin(), random.end());
      EXPECT_EQ(random, Ascending(n));
    }
  }
}

TEST_F(Schedule, ThreadsShareItems) {
  SetHostSchedule({.threads = 4});
  std::vector<int64_t> x(1001, -1);
  int64_t* const to = x.data();
  ASSERT_EQ(ForEach(stream_->native(), 1001, [=](int64_t i) { to[i] = i; }), 0);
  ASSERT_OK(stream_->Synchronize());
  EXPECT_EQ(x, Ascending(1001));
}

TEST_F(Schedule, RealTeamsReduceAndScan) {
  for (const int64_t n : {0, 1, 31, 33, 500, 5000}) {
    SCOPED_TRACE(n);
    std::vector<int64_t> sums(3, -1), before(static_cast<size_t>(n)), after(static_cast<size_t>(n));
    int threads = 0;
    ASSERT_OK(RunTeams(3, n, 0, [&](auto& team, int64_t t) {
      const int64_t sum = team.Reduce(
          n, int64_t{0}, [](int64_t i) { return i; }, Plus());
      team.Once([&] { sums[static_cast<size_t>(t)] = sum; });
      team.Scan(
          n, int64_t{0}, [](int64_t i) { return i + 1; }, Plus(),
          [&](int64_t i, int64_t b, int64_t a) {
            before[static_cast<size_t>(i)] = b;
            after[static_cast<size_t>(i)] = a;
          });
      ++threads;
    }));
    EXPECT_EQ(threads, 3 * (n <= 128 ? 32 : n <= 2048 ? 256 : 1024));
    EXPECT_EQ(sums, std::vector<int64_t>(3, n * (n - 1) / 2));
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(before[static_cast<size_t>(i)], i * (i + 1) / 2);
      ASSERT_EQ(after[static_cast<size_t>(i)], (i + 1) * (i + 2) / 2);
    }
  }
}

TEST_F(Schedule, ABarrierThatNotAllReachIsAFault) {
  int64_t rows[] = {0};
  EXPECT_THAT(RunTeams(1, 100, 0,
                       [&rows](auto& team, int64_t) {
                         if (rows[0]++ == 5) return;
                         team.For(100, [](int64_t) {});
                       }),
              StatusIs(ExitCode::kInternal, HasSubstr("of a team has ended, another one waits in For")));
  EXPECT_OK(stream_->Synchronize());
  rows[0] = 0;
  EXPECT_THAT(RunTeams(1, 100, 0,
                       [&rows](auto& team, int64_t) {
                         if (rows[0]++ == 5) return team.Once([] {});
                         team.For(100, [](int64_t) {});
                       }),
              StatusIs(ExitCode::kInternal, HasSubstr("waits in")));
}

TEST_F(Schedule, TwoWritersOfSharedMemoryAreAFault) {
  EXPECT_THAT(RunTeams(1, 32, 64,
                       [](auto& team, int64_t) {
                         team.For(32, [&](int64_t i) { static_cast<char*>(team.shared())[i / 2] = static_cast<char>(i); });
                       }),
              StatusIs(ExitCode::kInternal, HasSubstr("of its shared memory")));
  EXPECT_OK(RunTeams(2, 32, 64, [](auto& team, int64_t) {
    team.For(32, [&](int64_t i) { static_cast<char*>(team.shared())[i] = static_cast<char>(i); });
  }));
}

// The writes of another thread are there behind the loop, and not within it.
TEST_F(Schedule, SharedMemoryIsReadBehindABarrier) {
  std::vector<int64_t> early(32), late(32), own(32);
  EXPECT_OK(RunTeams(1, 32, 32 * 8, [&](auto& team, int64_t) {
    auto* const row = static_cast<int64_t*>(team.shared());
    team.For(32, [&](int64_t i) {
      row[i] = i;
      early[static_cast<size_t>(i)] = row[(i + 1) % 32];
      own[static_cast<size_t>(i)] = row[i];
    });
    team.For(32, [&](int64_t i) { late[static_cast<size_t>(i)] = row[(i + 1) % 32]; });
  }));
  for (int64_t i = 0; i < 32; ++i) {
    EXPECT_EQ(own[static_cast<size_t>(i)], i);
    EXPECT_NE(early[static_cast<size_t>(i)], (i + 1) % 32);
    EXPECT_EQ(late[static_cast<size_t>(i)], (i + 1) % 32);
  }
}

// A sum's barriers are not for the memory of a team that is one warp; each thread sees what it wrote itself.
TEST_F(Schedule, AReductionMakesNothingVisible) {
  std::vector<int64_t> own(32), others(32);
  EXPECT_OK(RunTeams(1, 32, 32 * 8, [&](auto& team, int64_t) {
    auto* const row = static_cast<int64_t*>(team.shared());
    (void)team.Reduce(
        32, int64_t{0}, [&](int64_t i) { return row[i] = i; }, Plus());
    team.For(32, [&](int64_t i) {
      own[static_cast<size_t>(i)] = row[i];
      others[static_cast<size_t>(i)] = row[(i + 1) % 32];
    });
  }));
  EXPECT_EQ(own, Ascending(32));
  for (int64_t i = 0; i < 32; ++i) EXPECT_NE(others[static_cast<size_t>(i)], (i + 1) % 32);
}

}  // namespace
}  // namespace ampc::cuda
