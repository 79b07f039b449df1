// Weights of 16 bits stay so in memory: what a session holds is counted, and its results are those of a model that holds them as float32.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace {

std::atomic<int64_t> live{0};  // bytes of tensors

}  // namespace

// Tensors alone are made by these: they are aligned. The 64 bytes in front of one keep its size.
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t, const std::nothrow_t&) noexcept {
  void* const memory = std::aligned_alloc(64, (size + 127) / 64 * 64);
  if (memory == nullptr) return nullptr;
  *static_cast<size_t*>(memory) = size;
  live += static_cast<int64_t>(size);
  return static_cast<char*>(memory) + 64;
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t align) {
  void* const memory = operator new(size, align, std::nothrow);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  if (memory == nullptr) return;
  void* const start = static_cast<char*>(memory) - 64;
  live -= static_cast<int64_t>(*static_cast<size_t*>(start));
  std::free(start);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t align) noexcept { operator delete(memory, align); }

namespace ampc {
namespace {

constexpr int kRows = 512, kWidth = 128;  // of each weight
constexpr int64_t kElements = kRows * kWidth;

// LOW is f16, bf16 or f32; w is a table of rows for one op and a factor for another.
std::string Program(const std::string& op, const std::string& low) {
  std::vector<std::string> weights;
  for (int64_t i = 0; i < kElements; ++i) weights.push_back(i % 7 == 0 ? "0.125" : i % 3 == 0 ? "-0.0625" : "0.5");
  const std::string text = absl::StrCat("feed x : FEED\nconst w : LOW [", kRows, ", ", kWidth, "] = [", absl::StrJoin(weights, ", "), "]\n",
                                        op, "y = cast(t) in_dtype=LOW out_dtype=f32 : f32 RESULT\nfetch y\n");
  return absl::StrReplaceAll(text, {{"LOW", low}});
}

struct Case {
  std::string name, op, feed, result;
  int64_t bytes;  // of an element of the f16 weight, that a session may hold beside the weight itself
};

std::string Text(const Case& c, const std::string& low) {
  return absl::StrReplaceAll(Program(c.op, low),
                             {{"FEED", c.feed}, {"RESULT", c.result}, {"BIAS", absl::StrJoin(std::vector<float>(kWidth, -1), ", ")}});
}

HostTensor Feed(const Case& c, int rows) {
  if (c.feed[0] == 'i') return HostTensor::Of<int64_t>({3, 1}, {kRows - 1, 0, 7});
  HostTensor x = F({rows, kRows}, std::vector<float>(static_cast<size_t>(rows) * kRows, 0.25f));
  if (c.name == "Rectified") x.mutable_values<float>()[1] = std::nanf("");
  return x;
}

// Bytes that a session holds behind its first run beside the program's own literal.
int64_t Held(const Case& c, const std::string& low, HostTensor* y, int rows = 3) {
  absl::StatusOr<ampc::Program> program = testing::ParseBare(Text(c, low));
  EXPECT_OK(program.status());
  const std::shared_ptr<const HostTensor> literal = program->main().FindVar("w")->literal;
  const int64_t before = live;
  absl::StatusOr<Session> session = Session::Create(*std::move(program), {.threads = 1});
  EXPECT_OK(session.status());
  {
    const absl::StatusOr<TensorMap> out = session->Run({{"x", Feed(c, rows)}});
    EXPECT_OK(out.status());
    *y = out->at("y");
  }
  return live - before - static_cast<int64_t>(y->size_bytes());
}

class HalfWeights : public ::testing::TestWithParam<Case> {};

TEST_P(HalfWeights, StayHalvesInMemory) {
  const Case& c = GetParam();
  HostTensor of_f16, of_f32;
  constexpr int64_t kRest = kElements / 2;  // the arena
  EXPECT_LE(Held(c, "f16", &of_f16), c.bytes * kElements + kRest);
  Held(c, "f32", &of_f32);
  EXPECT_TRUE(of_f16 == of_f32);
}

TEST_P(HalfWeights, ServeThreadsAndOtherShapesAtTheSameTime) {
  const Case& c = GetParam();
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(Text(c, "f16")));
  ASSERT_OK_AND_ASSIGN(const Session plain, FromText(Text(c, "f32")));
  std::vector<std::thread> threads;
  std::vector<int> same(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int rows = 1; rows < 5; ++rows) {
        const absl::StatusOr<TensorMap> a = session.Run({{"x", Feed(c, rows + t % 2)}}), b = plain.Run({{"x", Feed(c, rows + t % 2)}});
        same[static_cast<size_t>(t)] += a.ok() && b.ok() && a->at("y") == b->at("y") ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(4, 4));
}

// A table is moved as halves, and only what is read is widened; a factor is packed, as float32 for f16, and read again where an activation
// meets NaN. A value that is computed from constants, or joined with a computed one, is float32 as a whole.
INSTANTIATE_TEST_SUITE_P(
    Ops, HalfWeights,
    ::testing::Values(
        Case{"Product", "l = cast(x) in_dtype=f32 out_dtype=LOW : LOW [?, 512]\nt = matmul_v2(l, w) : LOW [?, 128]\n", "f32 [?, 512]",
             "[?, 128]", 4},
        Case{"Rectified",
             "const b : LOW [128] = [BIAS]\nl = cast(x) in_dtype=f32 out_dtype=LOW : LOW [?, 512]\nm = matmul_v2(l, w) : LOW [?, 128]\n"
             "a = elementwise_add(m, b) : LOW [?, 128]\nt = relu(a) : LOW [?, 128]\n",
             "f32 [?, 512]", "[?, 128]", 4},
        Case{"Slices", "gather_nd(X=w, Index=x) -> Out=t : LOW [3, 128]\n", "i64 [3, 1]", "[3, 128]", 0},
        Case{"Lookup", "lookup_table_v2(Ids=x, W=w) -> Out=t : LOW [3, 1, 128]\n", "i64 [3, 1]", "[3, 1, 128]", 0},
        Case{"Reshaped",
             "r = reshape2(w) shape=[1024, 64] : LOW [1024, 64]\nu = elementwise_add(r, r) : LOW [1024, 64]\n"
             "gather_nd(X=u, Index=x) -> Out=t : LOW [3, 64]\n",
             "i64 [3, 1]", "[3, 64]", 8},
        Case{"Joined",
             "l = cast(x) in_dtype=i64 out_dtype=LOW : LOW [3, 1]\n"
             "m = expand_v2(l) shape=[3, 128] : LOW [3, 128]\nconcat(X=[w, m]) -> Out=t axis=0 : LOW [515, 128]\n",
             "i64 [3, 1]", "[515, 128]", 8}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ampc
