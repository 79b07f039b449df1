// Sessions and threads: many threads in one Session, many Sessions at once, many threads in one run. Also what the thread sanitizer looks
// at.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session.h"
#include "tests/testlib/random_weights.h"
#include "tests/testlib/status.h"

// The leak checker asks this: OpenMP keeps what it made for threads that have ended.
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp.so\n"; }

namespace ampc {
namespace {

using testing::RandomTensor;
using testing::WithRandomWeights;

// A convolution, a matrix product and a normalisation large enough to be divided among threads, for any batch and width.
constexpr char kNet[] = R"(
feed  x : f32 [?, 4, 16, ?]
param w : f32 [16, 4, 3, 3]
param b : f32 [16]
param u : f32 [16, 32]
c = conv2d(x, w) paddings=[1, 1] : f32 [?, 16, 16, ?]
s = elementwise_add(c, b) axis=1 : f32 [?, 16, 16, ?]
r = relu(s) : f32 [?, 16, 16, ?]
t = transpose2(r) axis=[0, 2, 3, 1] : f32 [?, 16, ?, 16]
m = matmul_v2(t, u) : f32 [?, 16, ?, 32]
g = gelu(m) : f32 [?, 16, ?, 32]
p = softmax(g) : f32 [?, 16, ?, 32]
y = reduce_mean(p) dim=[2] : f32 [?, 16, 32]
fetch y
)";

Program Net() {
  std::mt19937 random(11);
  return WithRandomWeights(kNet, random);
}

// Feeds of three shapes, and what one session with one thread makes of each.
struct Known {
  std::vector<HostTensor> x, y;
};
Known KnownAnswers() {
  Known known;
  std::mt19937 random(12);
  const absl::StatusOr<Session> session = Session::Create(Net(), {.threads = 1});
  EXPECT_OK(session.status());
  for (const Dims& dims : {Dims{1, 4, 16, 24}, Dims{3, 4, 16, 24}, Dims{2, 4, 16, 40}}) {
    known.x.push_back(RandomTensor(random, dims, -1, 1));
    absl::StatusOr<TensorMap> out = session->Run({{"x", known.x.back()}});
    EXPECT_OK(out.status());
    known.y.push_back(out->at("y"));
  }
  return known;
}

bool SameBits(const HostTensor& a, const HostTensor& b) {
  return a.dims() == b.dims() && a.size_bytes() == b.size_bytes() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Runs all known feeds `rounds` times, starting with another one in each thread; counts the answers that differ in a bit.
void RunAll(const Session& session, const Known& known, size_t first, int rounds, std::atomic<int>& wrong) {
  for (size_t i = first; i < first + rounds * known.x.size(); ++i) {
    const size_t k = i % known.x.size();
    const absl::StatusOr<TensorMap> out = session.Run({{"x", known.x[k]}});
    if (!out.ok() || !SameBits(out->at("y"), known.y[k])) ++wrong;
  }
}

void InThreads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t) threads.emplace_back(body, t);
  for (std::thread& t : threads) t.join();
}

TEST(SessionThreads, ShareASessionThatPlansNewShapesMeanwhile) {
  const Known known = KnownAnswers();
  for (int n : {2, 4}) {
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(Net(), {.threads = 1}));
    std::atomic<int> wrong = 0;
    InThreads(n, [&](int t) { RunAll(session, known, t, 8, wrong); });
    EXPECT_EQ(wrong, 0) << n << " threads";
  }
}

TEST(SessionThreads, ShareASessionWhoseRunsHaveThreads) {
  const Known known = KnownAnswers();
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(Net(), {.threads = 2}));
  std::atomic<int> wrong = 0;
  InThreads(4, [&](int t) { RunAll(session, known, t, 4, wrong); });
  EXPECT_EQ(wrong, 0);
}

TEST(SessionThreads, CreateAndDestroySessionsAtTheSameTime) {
  const Known known = KnownAnswers();
  std::atomic<int> wrong = 0;
  InThreads(4, [&](int t) {
    for (int i = 0; i < 6; ++i) {
      const absl::StatusOr<Session> session = Session::Create(Net(), {.threads = 1 + i % 2});
      if (!session.ok()) {
        ++wrong;
      } else if (i % 3 != 2) {  // every third is destroyed without a run
        RunAll(*session, known, t, 1, wrong);
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(SessionThreads, ResultsDoNotDependOnTheNumberOfThreads) {
  const Known known = KnownAnswers();
  for (int n : {2, 3, 4, 7}) {
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(Net(), {.threads = n}));
    std::atomic<int> wrong = 0;
    RunAll(session, known, 0, 2, wrong);
    EXPECT_EQ(wrong, 0) << n << " threads";
  }
}

}  // namespace
}  // namespace ampc
