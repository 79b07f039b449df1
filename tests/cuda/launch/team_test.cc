// The device's Team (kernels/cuda/launch/team_cuda.h) with a thread of the host for each of its threads, and barriers and shuffles among
// them.
#include <barrier>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace {

struct Index {
  int x = 0;
};
struct Warp {
  std::barrier<> barrier{32};
  unsigned words[32] = {};
};
thread_local Index threadIdx;
thread_local Warp* warp_of_thread = nullptr;
std::barrier<>* block = nullptr;

void __syncthreads() { block->arrive_and_wait(); }
void __syncwarp() { warp_of_thread->barrier.arrive_and_wait(); }
unsigned FromLane(unsigned word, int lane) {
  warp_of_thread->words[threadIdx.x % 32] = word;
  __syncwarp();
  const unsigned theirs = warp_of_thread->words[lane];
  __syncwarp();
  return theirs;
}
unsigned __shfl_xor_sync(unsigned, unsigned word, int mask) { return FromLane(word, (threadIdx.x % 32) ^ mask); }
unsigned __shfl_up_sync(unsigned, unsigned word, int offset) {
  const int lane = threadIdx.x % 32;
  return FromLane(word, lane < offset ? lane : lane - offset);
}

}  // namespace

#define __device__
#include "kernels/cuda/launch/team_cuda.h"

namespace ampc::cuda {
namespace {

template <int kTeamThreads, class F>
void RunTeam(F f) {
  alignas(16) char shared[16], scratch[1024];
  std::barrier<> barrier(kTeamThreads);
  block = &barrier;
  std::vector<std::unique_ptr<Warp>> warps;
  for (int w = 0; w < kTeamThreads / 32; ++w) warps.push_back(std::make_unique<Warp>());
  std::vector<std::thread> threads;
  for (int t = 0; t < kTeamThreads; ++t) {
    threads.emplace_back([&, t] {
      threadIdx.x = t;
      warp_of_thread = warps[t / 32].get();
      Team<kTeamThreads> team(shared, scratch);
      f(team, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// x -> factor * x + sum, composed left to right: associative, not commutative.
struct Affine {
  double factor, sum;
};

template <int kTeamThreads>
void CheckTeam(int64_t n) {
  SCOPED_TRACE(n);
  std::vector<int64_t> before(n), after(n), sums(kTeamThreads), largest(kTeamThreads);
  std::vector<Affine> composed(n);
  const auto affine = [](int64_t i) { return Affine{1 + 1e-3 * static_cast<double>(i % 7 - 3), 0.1 * static_cast<double>(i % 5)}; };
  const auto compose = [](Affine a, Affine b) { return Affine{a.factor * b.factor, a.sum + a.factor * b.sum}; };
  RunTeam<kTeamThreads>([&](auto& team, int t) {
    const auto plus = [](int64_t a, int64_t b) { return a + b; };
    sums[t] = team.Reduce(
        n, int64_t{0}, [](int64_t i) { return i; }, plus);
    team.Scan(
        n, int64_t{0}, [](int64_t i) { return i + 1; }, plus,
        [&](int64_t i, int64_t b, int64_t a) {
          before[i] = b;
          after[i] = a;
        });
    team.Scan(n, Affine{1, 0}, affine, compose, [&](int64_t i, Affine, Affine a) { composed[i] = a; });
    largest[t] = team.Reduce(
        n, int64_t{-1}, [](int64_t i) { return i; }, [](int64_t a, int64_t b) { return a > b ? a : b; });
  });
  EXPECT_EQ(sums, std::vector<int64_t>(kTeamThreads, n * (n - 1) / 2));
  EXPECT_EQ(largest, std::vector<int64_t>(kTeamThreads, n - 1));
  Affine needed{1, 0};
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(before[i], i * (i + 1) / 2);
    ASSERT_EQ(after[i], (i + 1) * (i + 2) / 2);
    needed = compose(needed, affine(i));
    ASSERT_NEAR(composed[i].factor, needed.factor, 1e-12 * needed.factor);
    ASSERT_NEAR(composed[i].sum, needed.sum, 1e-12 * std::abs(needed.sum));
  }
}

TEST(TeamTest, OfAWarp) {
  for (const int64_t n : {0, 1, 31, 32, 33, 100}) CheckTeam<32>(n);
}

TEST(TeamTest, OfWarps) {
  for (const int64_t n : {1, 255, 257, 700}) CheckTeam<256>(n);
}

}  // namespace
}  // namespace ampc::cuda
