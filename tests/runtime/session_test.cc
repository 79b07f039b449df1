#include "runtime/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "runtime/exec/observer.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

HostTensor Ramp(std::vector<int64_t> dims, float first, float step) {
  absl::StatusOr<HostTensor> t = HostTensor::Create(DType::kF32, dims);
  float value = first;
  for (float& v : t->mutable_values<float>()) v = std::exchange(value, value + step);
  return *std::move(t);
}

constexpr char kMlp[] = R"(
feed  x : f32 [?, 2]
const w : f32 [2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
const b : f32 [3] = [0.5, -20.0, 1.0]
h = matmul_v2(x, w) : f32 [?, 3]
s = elementwise_add(h, b) : f32 [?, 3]
y = relu(s) : f32 [?, 3]
fetch y
)";

TEST(Session, RunsAnMlp) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", HostTensor::Of<float>({2, 2}, {1, 1, 2, 3})}}));
  EXPECT_EQ(out.at("y").dtype(), DType::kF32);
  EXPECT_EQ(Floats(out.at("y")), (std::vector<float>{5.5, 0, 10, 14.5, 0, 25}));
}

template <typename T>
void ExpectReluOnThreads(int threads) {
  const std::string type(Name(kDTypeOf<T>));
  const std::string text = absl::StrCat("feed x : ", type, " [?]\ny = relu(x) : ", type, " [?]\nfetch y\n");
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(text, {.threads = threads}));
  std::vector<T> values, expected;
  for (int i = 0; i < 200001; ++i) {
    const float value = static_cast<float>(i % 251 - 5);
    values.push_back(T(value));
    expected.push_back(T(std::max(value, 0.0f)));
  }
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", HostTensor::FromValues<T>({200001}, values)}}));
  EXPECT_TRUE(out.at("y") == HostTensor::FromValues<T>({200001}, expected)) << type;
}

TEST(Session, ThreadsShareTheConversionOfFeedsAndFetches) {
  ExpectReluOnThreads<Half>(3);
  ExpectReluOnThreads<BFloat16>(3);
  ExpectReluOnThreads<float>(3);
}

// Paddle 2.0 to 2.4 export the number of rows of a layer norm, a product of open dims, as 1.
TEST(Session, AResultHasTheSizeThatIsComputed) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [?, ?, 2]
y, mean, variance = layer_norm(x) begin_norm_axis=2 : f32 [?, ?, 2], f32 [1], f32 [1]
fetch y
fetch mean
fetch variance
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", Ramp({8, 5, 2}, 0, 1)}}));
  EXPECT_EQ(out.at("mean").dims(), std::vector<int64_t>{40});
  for (int row = 0; row < 40; ++row) EXPECT_EQ(Floats(out.at("mean")).at(row), 2 * row + 0.5f);
  EXPECT_EQ(Floats(out.at("variance")), std::vector<float>(40, 0.25f));
}

TEST(Session, PlansOncePerShape) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp));
  for (int round = 0; round < 2; ++round) {
    for (int64_t batch : {1, 4, 1, 0}) {
      ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", Ramp({batch, 2}, 1, 0)}}));
      EXPECT_EQ(out.at("y").num_elements(), 3 * batch);
    }
  }
  EXPECT_EQ(session.num_plans(), 3);
}

TEST(Session, ForgetsTheOldestPlans) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp));
  for (int64_t batch = 1; batch <= 40; ++batch) ASSERT_OK(session.Run({{"x", Ramp({batch, 2}, 1, 0)}}).status());
  EXPECT_EQ(session.num_plans(), 16);
}

// Every result is rounded to its declared type, once; the fetch has that type.
TEST(Session, RoundsToDeclaredTypes) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed  x : f32 [3]
h = cast(x) in_dtype=f32 out_dtype=f16 : f16 [3]
y = elementwise_add(h, h) : f16 [3]
z = cast(y) in_dtype=f16 out_dtype=f32 : f32 [3]
fetch y, z
)",
                                                       {.threads = 1, .strict_rounding = true}));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", HostTensor::Of<float>({3}, {2049, 1e-8f, 40000})}}));
  ASSERT_EQ(out.at("y").dtype(), DType::kF16);
  EXPECT_EQ(static_cast<float>(out.at("y").values<Half>()[0]), 4096);
  EXPECT_EQ(Floats(out.at("z"))[1], 0);
  EXPECT_TRUE(std::isinf(Floats(out.at("z"))[2]));
}

// Without strict rounding a low value that only ops of the run read keeps what float32 computed; a fetch never does.
TEST(Session, ExcessPrecisionEndsAtCastsAndFetches) {
  for (const bool excess : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed  x : f16 [3]
y = elementwise_add(x, x) : f16 [3]
z = scale(y) scale=0.5 : f16 [3]
w = cast(z) in_dtype=f16 out_dtype=f32 : f32 [3]
fetch y, w
)",
                                                         {.threads = 1, .excess_precision = excess}));
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", HostTensor::Of<Half>({3}, {Half(2049.0f), Half(0.5f), Half(40000.0f)})}}));
    EXPECT_TRUE(std::isinf(static_cast<float>(out.at("y").values<Half>()[2])));
    EXPECT_EQ(Floats(out.at("w"))[1], 0.5f);
    EXPECT_EQ(std::isinf(Floats(out.at("w"))[2]), !excess);
  }
}

// A convolution puts its result where the residual lies, unless that is needed: by itself, by another op or by a fetch.
TEST(Session, ResidualsThatAreNeededStay) {
  constexpr char kText[] = R"(
feed  x : f32 [1, 2, 3, 3]
const w : f32 [2, 2, 1, 1] = [1.0, 2.0, 0.5, -1.0]
conv2d(Input=x, Filter=w) -> Output=a : f32 [1, 2, 3, 3]
conv2d(Input=a, Filter=w) -> Output=b : f32 [1, 2, 3, 3]
c = elementwise_add(b, a) : f32 [1, 2, 3, 3]
conv2d(Input=x, Filter=w) -> Output=d : f32 [1, 2, 3, 3]
e = elementwise_add(d, c) : f32 [1, 2, 3, 3]
conv2d(Input=x, Filter=w) -> Output=f : f32 [1, 2, 3, 3]
g = elementwise_add(f, e) : f32 [1, 2, 3, 3]
h = elementwise_add(g, x) : f32 [1, 2, 3, 3]
fetch c, g, h
)";
  ASSERT_OK_AND_ASSIGN(const Session fused, FromText(kText));
  ASSERT_OK_AND_ASSIGN(const Session apart, FromText(kText, {.threads = 1, .strict_rounding = true, .in_place = false}));
  EXPECT_LT(fused.program().main().ops().size(), apart.program().main().ops().size());
  ASSERT_OK_AND_ASSIGN(const TensorMap got, fused.Run({{"x", Ramp({1, 2, 3, 3}, -2, 1)}}));
  ASSERT_OK_AND_ASSIGN(const TensorMap want, apart.Run({{"x", Ramp({1, 2, 3, 3}, -2, 1)}}));
  for (const char* name : {"c", "g", "h"}) EXPECT_EQ(Floats(got.at(name)), Floats(want.at(name))) << name;
}

// A convolution makes channels-last memory; everything behind it must still see the same numbers.
TEST(Session, LayoutsAreInvisible) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed  x : f32 [1, 1, 3, 3]
const w : f32 [2, 1, 2, 2] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
const one : f32 [1, 2, 1, 1] = [10.0, 20.0]
conv2d(Input=x, Filter=w) -> Output=c : f32 [1, 2, 2, 2]
s = elementwise_add(c, one) : f32 [1, 2, 2, 2]
r, r.xshape = reshape2(s) shape=[1, 8] : f32 [1, 8], f32 [0, 1, 2, 2, 2]
fetch r, c
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", Ramp({1, 1, 3, 3}, 0, 1)}}));
  EXPECT_EQ(Floats(out.at("c")), (std::vector<float>{0, 1, 3, 4, 4, 5, 7, 8}));
  EXPECT_EQ(Floats(out.at("r")), (std::vector<float>{10, 11, 13, 14, 24, 25, 27, 28}));
}

class Implementations : public StepObserver {
 public:
  absl::Status AfterStep(const ObservedStep& step) override {
    of[step.op->type()] = step.implementation;
    return absl::OkStatus();
  }
  std::map<std::string, std::string> of;
};

// A cast that only convolutions read, as what they convolve, puts its result into their order at once.
TEST(Session, CastsForConvolutionsTranspose) {
  struct Case {
    const char* more;
    bool transposes;
  };
  constexpr Case kCases[] = {{"fetch c, d\n", true},
                             {"r = relu(h) : f16 [2, 3, 3, 3]\nfetch c, d, r\n", false},
                             {"fetch c, d, h\n", false},
                             {"conv2d(Input=a, Filter=h) -> Output=e : f16 [2, 2, 1, 1]\nfetch c, d, e\n", false},
                             {"conv2d(Input=h, Filter=w) -> Output=e data_format=\"NHWC\" : f16 [2, 3, 3, 2]\nfetch c, d, e\n", false}};
  const std::string program = R"(
feed  x : f32 [2, 3, 3, 3]
feed  a : f16 [2, 3, 3, 3]
const w : f16 [2, 3, 1, 1] = [1.0, 2.0, 0.5, -1.0, 3.0, 0.25]
h = cast(x) in_dtype=f32 out_dtype=f16 : f16 [2, 3, 3, 3]
conv2d(Input=h, Filter=w) -> Output=c : f16 [2, 2, 3, 3]
conv2d(Input=h, Filter=w) -> Output=d : f16 [2, 2, 3, 3]
)";
  const TensorMap feeds = {{"x", Ramp({2, 3, 3, 3}, -2, 0.037f)}, {"a", *HostTensor::Create(DType::kF16, {2, 3, 3, 3})}};
  std::vector<float> want;
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.more);
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(program + c.more));
    Implementations seen;
    ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run(feeds, seen));
    EXPECT_EQ(seen.of["cast"] == "ampc:layout", c.transposes) << seen.of["cast"];
    const auto values = out.at("c").values<Half>();
    const std::vector<float> got(values.begin(), values.end());
    if (want.empty()) want = got;
    EXPECT_EQ(got, want);
  }
}

// In-place reuse must not touch what is still needed, fetched or the caller's.
TEST(Session, ReuseKeepsLiveValues) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed x : f32 [4]
a = relu(x) : f32 [4]
b = scale(a) scale=2.0 : f32 [4]
c = scale(b) bias=1.0 : f32 [4]
d = elementwise_add(b, c) : f32 [4]
e = elementwise_add(a, d) : f32 [4]
fetch e, a, x
)",
                                                       {.threads = 1, .strict_rounding = true}));
  const HostTensor x = HostTensor::Of<float>({4}, {-1, 1, 2, 3});
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", x}}));
  EXPECT_EQ(Floats(out.at("a")), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(Floats(out.at("e")), (std::vector<float>{1, 6, 11, 16}));
  EXPECT_EQ(Floats(out.at("x")), (std::vector<float>{-1, 1, 2, 3}));
  EXPECT_EQ(Floats(x), (std::vector<float>{-1, 1, 2, 3}));
}

// Shape arithmetic disappears at plan time: a reshape to a computed shape is static.
TEST(Session, FoldsShapeArithmetic) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(R"(
feed  x : f32 [?, 2, 3]
const six : i32 [1] = [6]
n = shape(x) : i32 [3]
slice(Input=n) -> Out=b axes=[0] starts=[0] ends=[1] : i32 [1]
s = concat(b, six) : i32 [2]
reshape2(X=x, Shape=s) -> Out=y : f32 [?, ?]
fetch y
)"));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", Ramp({4, 2, 3}, 0, 1)}}));
  EXPECT_EQ(std::vector<int64_t>(out.at("y").dims().begin(), out.at("y").dims().end()), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(Floats(out.at("y")), Floats(Ramp({24}, 0, 1)));
}

TEST(Session, ThreadsShareASession) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const float v = static_cast<float>(t * 1000 + i);
        absl::StatusOr<TensorMap> out = session.Run({{"x", HostTensor::Of<float>({1, 2}, {v, 0})}});
        if (!out.ok() || Floats(out->at("y"))[0] != v + 0.5f) ++wrong[t];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(SessionErrors, FeedsThatDoNotFit) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kMlp));
  ExpectError(session.Run({}).status(), ExitCode::kUsage, "feed 'x' is missing");
  ExpectError(session.Run({{"x", Ramp({1, 2}, 0, 1)}, {"z", Ramp({1}, 0, 1)}}).status(), ExitCode::kUsage, "no feed 'z'");
  ExpectError(session.Run({{"x", HostTensor::Of<int32_t>({1, 2}, {1, 2})}}).status(), ExitCode::kUsage,
              "feed 'x' is i32, the model needs f32 [?, 2]");
  ExpectError(session.Run({{"x", Ramp({1, 3}, 0, 1)}}).status(), ExitCode::kUsage, "feed 'x' has dims [1, 3], the model needs f32 [?, 2]");
}

TEST(SessionErrors, FeedsThatAreNoTensors) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText("feed a : array<f32> [2]\nfeed x : f32 [2]\ny = relu(x) : f32 [2]\nfetch y\n"));
  ExpectError(session.Run({{"x", Ramp({2}, 0, 1)}}).status(), ExitCode::kUnsupported,
              "feed 'a' is array<f32> [2], models are executed with tensors as feeds");
}

TEST(SessionErrors, WhatCannotRun) {
  ExpectError(FromText(kMlp, {.device = "tpu"}).status(), ExitCode::kUsage, "device 'tpu'");
  ExpectError(FromText(kMlp, {.device = "cuda:0"}).status(), ExitCode::kUnsupported, "cuda:0");
  ExpectError(FromText(kMlp, {.threads = -1}).status(), ExitCode::kUsage, "threads");
  ASSERT_OK_AND_ASSIGN(const Session session, FromText("feed x : f32 [2]\nstrange(X=x) -> Out=y !opaque : f32 [2]\nfetch y\n"));
  ExpectError(session.Run({{"x", Ramp({2}, 0, 1)}}).status(), ExitCode::kUnsupported, "strange");
}

TEST(SessionErrors, AParamWithoutValue) {
  ExpectError(FromText("feed x : f32 [2, 2]\nparam w : f32 [2, 2]\ny = matmul_v2(x, w) : f32 [2, 2]\nfetch y\n").status(),
              ExitCode::kBadInput, "param 'w' has no stored value");
}

}  // namespace
}  // namespace ampc
