// Which values a plan stores in 16 bits: the cost model's choice, what it does to the arena, and that it shows.
#include "runtime/plan/storage_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/lib/cpu_numbers.h"
#include "runtime/exec/observer.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// LOW is bf16 or f32. cumsum's kernel takes no halves: what it reads is widened for it, which costs more than the few bytes that storing
// its operand in 16 bits would save.
constexpr char kNet[] = R"(
feed  x : f32 [1, 32, 40, 40]
const w : LOW [32, 32, 1, 1] = WEIGHTS
l = cast(x) in_dtype=f32 out_dtype=LOW : LOW [1, 32, 40, 40]
conv2d(Input=l, Filter=w) -> Output=a : LOW [1, 32, 40, 40]
conv2d(Input=a, Filter=w) -> Output=b : LOW [1, 32, 40, 40]
c = elementwise_add(b, b) : LOW [1, 32, 40, 40]
d = transpose2(c) axis=[0, 2, 3, 1] : LOW [1, 40, 40, 32]
e = cumsum(d) axis=-1 : LOW [1, 40, 40, 32]
f = cumsum(e) axis=-1 : LOW [1, 40, 40, 32]
y = cast(f) in_dtype=LOW out_dtype=f32 : f32 [1, 40, 40, 32]
fetch y
)";

std::string Net(const std::string& low) {
  std::string weights = "[";
  for (int i = 0; i < 1024; ++i) absl::StrAppend(&weights, i == 0 ? "" : ", ", i % 7 == 0 ? "0.125" : "-0.0625");
  return absl::StrReplaceAll(kNet, {{"LOW", low}, {"WEIGHTS", weights + "]"}});
}

HostTensor Image() {
  HostTensor x = *HostTensor::Create(DType::kF32, {1, 32, 40, 40});
  int i = 0;
  for (float& v : x.mutable_values<float>()) v = static_cast<float>(i++ % 23) * 0.25f - 2;
  return x;
}

// By name: whether the value lies in 16 bits.
class Storages : public StepObserver {
 public:
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) half[v.var->name()] = v.desc.half;
    return absl::OkStatus();
  }
  std::map<std::string, bool> half;
};

bool ComputesBf16() { return onednn::CpuNumbers().bf16_flops > 0; }

TEST(Storage, WhatProductsReadIsStoredInSixteenBits) {
  if (!ComputesBf16()) GTEST_SKIP() << "this CPU has no instructions for bf16: every value is stored as float32";
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(Net("bf16")));
  Storages storages;
  ASSERT_OK(session.Run({{"x", Image()}}, storages).status());
  for (const char* name : {"l", "a"}) EXPECT_TRUE(storages.half.at(name)) << name;
  for (const char* name : {"c", "e", "f"}) EXPECT_FALSE(storages.half.at(name)) << name;
}

// A cast beside an op that takes any storage, or beside a conversion between layouts, is no step: that reads or stores the half itself. A
// clip with an operand is an op by itself.
TEST(Storage, CastsBecomePartOfElementwiseOps) {
  if (!ComputesBf16()) GTEST_SKIP() << "this CPU has no instructions for bf16: every value is stored as float32";
  std::string text = Net("bf16");
  text = text.substr(0, text.find("c = elementwise_add")) + R"(g = cast(b) in_dtype=bf16 out_dtype=f32 : f32 [1, 32, 40, 40]
const low : f32 [1] = [-0.75]
clip(X=g, Min=low) -> Out=i min=0.0 max=1.5 : f32 [1, 32, 40, 40]
j = cast(i) in_dtype=f32 out_dtype=bf16 : bf16 [1, 32, 40, 40]
conv2d(Input=j, Filter=w) -> Output=k : bf16 [1, 32, 40, 40]
y = cast(k) in_dtype=bf16 out_dtype=f32 : f32 [1, 32, 40, 40]
fetch y
)";
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(text));
  ASSERT_OK_AND_ASSIGN(const Session strict, FromText(text, {.threads = 1, .strict_rounding = true}));
  Storages storages;
  ASSERT_OK_AND_ASSIGN(const TensorMap got, session.Run({{"x", Image()}}, storages));
  EXPECT_FALSE(storages.half.contains("g"));
  EXPECT_FALSE(storages.half.contains("j"));
  EXPECT_TRUE(storages.half.at("i"));  // where j lies
  EXPECT_FALSE(storages.half.contains("y"));
  ASSERT_OK_AND_ASSIGN(const TensorMap want, strict.Run({{"x", Image()}}));
  float largest = 0, error = 0;
  for (int64_t i = 0; i < got.at("y").num_elements(); ++i) {
    largest = std::max(largest, std::abs(want.at("y").values<float>()[i]));
    error = std::max(error, std::abs(got.at("y").values<float>()[i] - want.at("y").values<float>()[i]));
  }
  EXPECT_LE(error, 0x1p-7f * largest);
}

TEST(Storage, ThePlanSaysInWhichTypeAResultLies) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(Net("bf16")));
  ASSERT_OK_AND_ASSIGN(const std::string text, session.PlanText({{"x", Image()}}));
  EXPECT_EQ(text.find(":bf16") != std::string::npos, ComputesBf16()) << text;
  EXPECT_NE(text.find(":f32"), std::string::npos) << text;
}

TEST(Storage, EachResultIsRoundedUnlessThePlanMayChoose) {
  for (const SessionOptions& options :
       {SessionOptions{.threads = 1, .strict_rounding = true}, SessionOptions{.threads = 1, .excess_precision = false}}) {
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(Net("bf16"), options));
    Storages storages;
    ASSERT_OK(session.Run({{"x", Image()}}, storages).status());
    for (const auto& [name, half] : storages.half) EXPECT_FALSE(half) << name;
  }
}

TEST(Storage, AnArenaOfBf16IsSmallerThanOneOfFloats) {
  if (!ComputesBf16()) GTEST_SKIP() << "this CPU has no instructions for bf16: every value is stored as float32";
  std::map<std::string, int64_t> bytes;
  for (const char* type : {"f32", "bf16"}) {
    std::string text = Net(type);
    text = absl::StrReplaceAll(text.substr(0, text.find("d = transpose2")), {{"c = elementwise_add(b, b)", "c = elementwise_add(b, a)"}});
    absl::StrAppend(&text, "y = cast(c) in_dtype=", type, " out_dtype=f32 : f32 [1, 32, 40, 40]\nfetch y\n");
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(text));
    ASSERT_OK(session.Run({{"x", Image()}}).status());
    bytes[type] = session.arena_bytes();
  }
  EXPECT_LT(bytes["bf16"], bytes["f32"]);
}

TEST(Storage, ResultsDoNotDependOnThreads) {
  ASSERT_OK_AND_ASSIGN(const Session one, FromText(Net("bf16"), {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(const Session three, FromText(Net("bf16"), {.threads = 3}));
  ASSERT_OK_AND_ASSIGN(const TensorMap a, one.Run({{"x", Image()}}));
  ASSERT_OK_AND_ASSIGN(const TensorMap b, three.Run({{"x", Image()}}));
  EXPECT_TRUE(a.at("y") == b.at("y"));
}

TEST(Storage, CpusWithoutBf16HaveNoRateForIt) {
  for (const char* name : {"avx2", "avx512"}) EXPECT_EQ(FindDeviceNumbers(name)->bf16_flops, 0) << name;
  for (const char* name : {"avx512_bf16", "amx"})
    EXPECT_GT(FindDeviceNumbers(name)->bf16_flops, FindDeviceNumbers(name)->f32_flops) << name;
  EXPECT_EQ(FindDeviceNumbers("abacus"), nullptr);
}

}  // namespace
}  // namespace ampc
