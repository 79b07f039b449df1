// The bytes that a run through ampc.h allocates: neither inputs nor results are copied on their way.
#include <ampc.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/formats/test_files.h"

namespace {

std::atomic<size_t> allocated{0};  // bytes

void* Allocate(size_t size, size_t alignment) {
  allocated += size;
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + (size == 0 ? alignment : 0));
}
void* Need(void* memory) {
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) { return Need(Allocate(size, 16)); }
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 16); }
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  return Need(Allocate(size, static_cast<size_t>(alignment)));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace ampc::testing {
namespace {

constexpr int64_t kCount = 1 << 20;
constexpr size_t kLittle = 1 << 16;  // what a run may allocate that copies no 4 MB

class Copies : public ::testing::Test {
 protected:
  void Load(const std::string& text) {
    const std::string path = folder_ / "m.prog";
    std::ofstream(path) << "program m version=1\n\nblock main {\n" << text << "}\n";
    const ampc_option option = {"threads", "1"};
    ASSERT_EQ(ampc_load(path.c_str(), &option, 1, &session_), AMPC_OK) << ampc_error_text();
  }
  void TearDown() override { ampc_free_session(session_); }
  ampc_tensor Input(const float* data) const { return {"x", AMPC_F32, 1, &kCount, data, kCount * sizeof(float)}; }

  // The bytes that a run allocates that is not the first one.
  size_t BytesOfRun(const ampc_tensor& input, float* first) const {
    size_t bytes = 0;
    for (int i = 0; i < 2; ++i) {
      const size_t before = allocated;
      ampc_results* results = nullptr;
      EXPECT_EQ(ampc_run_ordered(session_, &input, 1, &results), AMPC_OK) << ampc_error_text();
      bytes = allocated - before;
      ampc_tensor result{};
      EXPECT_EQ(ampc_result(results, 0, &result), AMPC_OK);
      *first = static_cast<const float*>(result.data)[0];
      ampc_free_results(results);
    }
    return bytes;
  }

  TempFolder folder_;
  ampc_session* session_ = nullptr;
};

constexpr char kSum[] = "feed x : f32 [?]\ny = reduce_sum(x) dim=[0] : f32 []\nfetch y\n";

TEST_F(Copies, NoneOfInputs) {
  ASSERT_NO_FATAL_FAILURE(Load(kSum));
  const std::vector<float> x(kCount, 0.5f);
  float sum = 0;
  EXPECT_LT(BytesOfRun(Input(x.data()), &sum), kLittle);
  EXPECT_EQ(sum, kCount / 2);
}

// By name, too.
TEST_F(Copies, NoneOfNamedInputs) {
  ASSERT_NO_FATAL_FAILURE(Load(kSum));
  const std::vector<float> x(kCount, 0.5f);
  const ampc_tensor input = Input(x.data());
  ampc_results* results = nullptr;
  ASSERT_EQ(ampc_run(session_, &input, 1, &results), AMPC_OK);
  ampc_free_results(results);
  const size_t before = allocated;
  ASSERT_EQ(ampc_run(session_, &input, 1, &results), AMPC_OK);
  EXPECT_LT(allocated - before, kLittle);
  ampc_free_results(results);
}

TEST_F(Copies, OneOfInputsThatAreNotAligned) {
  ASSERT_NO_FATAL_FAILURE(Load(kSum));
  std::vector<char> bytes(kCount * sizeof(float) + 1);
  const std::vector<float> x(kCount, 0.5f);
  std::memcpy(bytes.data() + 1, x.data(), kCount * sizeof(float));
  ampc_tensor input = Input(nullptr);
  input.data = bytes.data() + 1;
  float sum = 0;
  EXPECT_GT(BytesOfRun(input, &sum), kCount * sizeof(float));
  EXPECT_EQ(sum, kCount / 2);
}

// Computed where the caller wants them, with and without alignment.
TEST_F(Copies, NoneOfResults) {
  ASSERT_NO_FATAL_FAILURE(
      Load("feed x : f32 [?]\nt = relu(x) : f32 [?]\ny = scale(t) scale=2.0 : f32 [?]\nz = reduce_sum(y) dim=[0] : f32 []\n"
           "fetch y\nfetch z\n"));
  const std::vector<float> x(kCount, 0.5f);
  std::vector<float> y(kCount + 1);
  float z = 0;
  const ampc_tensor input = Input(x.data());
  for (const size_t shift : {size_t{0}, sizeof(float), size_t{1}}) {
    std::fill(y.begin(), y.end(), 0.0f);
    char* const at = reinterpret_cast<char*>(y.data()) + shift;
    const ampc_tensor outputs[] = {{"y", AMPC_F32, 1, &kCount, at, kCount * sizeof(float)}, {"z", AMPC_F32, 0, nullptr, &z, sizeof(z)}};
    ASSERT_EQ(ampc_run_into(session_, &input, 1, outputs, 2), AMPC_OK) << ampc_error_text();
    const size_t before = allocated;
    ASSERT_EQ(ampc_run_into(session_, &input, 1, outputs, 2), AMPC_OK) << ampc_error_text();
    EXPECT_EQ(allocated - before < kLittle, shift % sizeof(float) == 0) << shift;
    std::vector<float> got(kCount);
    std::memcpy(got.data(), at, kCount * sizeof(float));
    EXPECT_EQ(got, std::vector<float>(kCount, 1.0f));
    EXPECT_EQ(z, kCount);
  }
  const int64_t other = kCount - 1;
  const ampc_tensor wrong[] = {{"y", AMPC_F32, 1, &other, y.data(), other * sizeof(float)}, {"z", AMPC_F32, 0, nullptr, &z, sizeof(z)}};
  EXPECT_EQ(ampc_run_into(session_, &input, 1, wrong, 2), AMPC_USAGE);
  EXPECT_NE(std::string(ampc_error_text()).find("output 'y': found memory for f32 [1048575], the result is f32 [1048576]"),
            std::string::npos)
      << ampc_error_text();
}

TEST_F(Copies, ThreadsReadOneInput) {
  ASSERT_NO_FATAL_FAILURE(Load(kSum));
  const std::vector<float> x(kCount, 0.5f);
  std::vector<float> sums(4);
  std::vector<std::thread> threads;
  for (float& sum : sums) threads.emplace_back([&] { BytesOfRun(Input(x.data()), &sum); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<float>(4, kCount / 2));
}

}  // namespace
}  // namespace ampc::testing
