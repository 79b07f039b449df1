// A run takes its memory from the plan: kernels allocate nothing for what they need beside operands and results.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

// Not inlined: the compiler would take what is freed for memory of its own operator new.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ampc {
namespace {

// Of a run of a convolution with so many results channels, whose activation keeps NaN; the first run is not counted. The filter is a
// constant, packed once: where oneDNN fills up blocks of one that is fed, it allocates in each run.
int64_t AllocationsOf(int channels) {
  const std::string text = absl::StrCat("feed x : f32 [1, 16, 8, 8]\nconst w : f32 [", channels, ", 16, 3, 3] = [",
                                        absl::StrJoin(std::vector<double>(channels * 144, 0.25), ", "), "]\nfeed b : f32 [", channels,
                                        "]\nc = conv2d(Input=x, Filter=w, Bias=b)\ny = relu(c)\nfetch y\n");
  absl::StatusOr<Session> session = FromText(text);
  EXPECT_OK(session.status());
  if (!session.ok()) return -1;
  const TensorMap feeds = {{"x", F({1, 16, 8, 8}, std::vector<float>(1024, 0.5f))},
                           {"b", F({channels}, std::vector<float>(channels, -1.0f))}};
  int64_t before = 0;
  for (int i = 0; i < 3; ++i) {
    before = allocations;
    EXPECT_OK(session->Run(feeds).status());
  }
  return allocations - before;
}

// Vectors of 16 lanes are not filled: what lies behind the bias comes from the workspace.
TEST(Allocation, OfAConvolutionDoesNotDependOnItsChannels) { EXPECT_EQ(AllocationsOf(13), AllocationsOf(16)); }

}  // namespace
}  // namespace ampc
