#include "graph/builder.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/text/printer.h"
#include "graph/verify.h"
#include "tests/testlib/round_trip.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::string Brief(const Program& program) {
  PrintOptions options;
  options.bare = true;
  options.brief = true;
  return PrintProgram(program, options);
}

// The forward network of the fp16_guard example.
Value BuildNet(ProgramBuilder& b) {
  Value data = b.Feed("x", DType::kF32, {-1, 1, 28, 28});
  Value h = b.Conv2D(data, {.filters = 6, .kernel = 3, .bias = false});
  Fp16Guard guard(b);
  h = b.BatchNorm(h, {.act = "relu"});
  h = b.Pool2D(h, {.type = "max", .size = 2, .stride = 2});
  h = b.FullyConnected(h, 10);
  return b.Mean(b.SoftmaxWithCrossEntropy(h, b.Feed("y", DType::kI64, {-1, 1})));
}

TEST(ProgramBuilder, BuildsTheGuardExample) {
  ProgramBuilder b("net");
  const Value loss = BuildNet(b);
  b.Fetch(loss);
  ASSERT_OK_AND_ASSIGN(const Program program, b.Build());
  EXPECT_OK(testing::CheckRoundTrip(program));
  const std::string text = Brief(program);
  EXPECT_THAT(text, HasSubstr("conv2d_0.tmp_0 = conv2d(x, conv2d_0.w_0) : f32 [?, 6, 26, 26]\n"));
  EXPECT_THAT(text,
              HasSubstr("Y=batch_norm_0.tmp_2, MeanOut<-batch_norm_0.w_1, VarianceOut<-batch_norm_0.w_2, SavedMean=batch_norm_0.tmp_0, "
                        "SavedVariance=batch_norm_0.tmp_1 !guard=1"));
  EXPECT_THAT(text, HasSubstr("batch_norm_0.tmp_3 = relu(batch_norm_0.tmp_2) !guard=1 : f32 [?, 6, 26, 26]\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "pool2d_0.tmp_0 = pool2d(batch_norm_0.tmp_3) ksize=[2, 2] pooling_type=\"max\" strides=[2, 2] !guard=1 : f32 [?, 6, 13, 13]\n"));
  EXPECT_THAT(text, HasSubstr("param fc_0.w_0 : f32 [1014, 10] trainable = #"));
  EXPECT_THAT(text, HasSubstr("fc_0.tmp_1 = elementwise_add(fc_0.tmp_0, fc_0.b_0) axis=1 !guard=1 : f32 [?, 10]\n"));
  EXPECT_THAT(
      text,
      HasSubstr("softmax_with_cross_entropy_0.tmp_1 = softmax_with_cross_entropy(fc_0.tmp_1, y) !guard=1 : f32 [?, 10], f32 [?, 1]\n"));
  EXPECT_THAT(text, HasSubstr("fetch mean_0.tmp_0\n"));
  ASSERT_EQ(program.feeds.size(), 2u);
  EXPECT_EQ(program.feeds[1]->name(), "y");
}

TEST(ProgramBuilder, EachGuardIsARegion) {
  ProgramBuilder b;
  Value x = b.Feed("x", DType::kF32, {4});
  x = b.Relu(x);
  {
    Fp16Guard outer(b);
    x = b.Relu(x);
    {
      Fp16Guard inner(b);
      x = b.Relu(x);
    }
    x = b.Relu(x);
  }
  {
    Fp16Guard second(b);
    x = b.Relu(x);
  }
  x = b.Relu(x);
  ASSERT_OK(b.status());
  std::vector<int> guards;
  for (const auto& op : b.program().main().ops()) guards.push_back(op->marks.guard);
  EXPECT_EQ(guards, (std::vector<int>{0, 1, 2, 1, 3, 0}));
}

TEST(ProgramBuilder, CloneForTestWritesNoState) {
  ProgramBuilder b;
  b.Fetch(BuildNet(b));
  const Program test = b.CloneForTest();
  ASSERT_OK(Verify(test));
  const std::string text = Brief(test);
  EXPECT_THAT(
      text,
      HasSubstr("batch_norm_0.tmp_2 = batch_norm(X=conv2d_0.tmp_0, Scale=batch_norm_0.w_0, Bias=batch_norm_0.b_0, Mean=batch_norm_0.w_1, "
                "Variance=batch_norm_0.w_2) is_test=true !guard=1 : f32 [?, 6, 26, 26]\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("batch_norm_0.tmp_0")));
  EXPECT_THAT(text, HasSubstr("softmax_with_cross_entropy(fc_0.tmp_1, y)"));
  // The builder's own program still trains.
  EXPECT_THAT(Brief(b.program()), HasSubstr("MeanOut<-batch_norm_0.w_1"));
}

// A state that only its own counting reads: the clone counts nothing.
TEST(ProgramBuilder, CloneForTestLeavesOutCountersOfSeeds) {
  ProgramBuilder b;
  const Value x = b.Feed("x", DType::kF32, {2, 6});
  const Value s = b.State("seed", DType::kI32, {1}, Initializer::Constant(1));
  b.Op("increment", {{"X", {s}}}, {{"step", 1.0f}}, {{"Out", {s}}});
  b.Fetch(b.Op("dropout", {{"X", {x}}, {"Seed", {s}}}, {{"dropout_prob", 0.5f}}));
  const Value read = b.State("read", DType::kF32, {1}, Initializer::Constant(1));
  b.Op("increment", {{"X", {read}}}, {{"step", 1.0f}}, {{"Out", {read}}});
  b.Fetch(b.Op("relu", {{"X", {read}}}));
  const Value next = b.State("next", DType::kF32, {1}, Initializer::Constant(1));
  b.Op("increment", {{"X", {read}}}, {{"step", 1.0f}}, {{"Out", {next}}});
  b.Fetch(b.Op("relu", {{"X", {next}}}));
  ASSERT_OK(b.status());
  const std::string text = Brief(b.CloneForTest());
  EXPECT_THAT(text, ::testing::Not(HasSubstr("seed")));
  EXPECT_THAT(text, HasSubstr("read <- increment(read)"));
  EXPECT_THAT(text, HasSubstr("next <- increment(read)"));
}

TEST(ProgramBuilder, GenericOpsTakeSlotsAndOverwrite) {
  ProgramBuilder b;
  const Value x = b.Feed("x", DType::kF32, {2, 6});
  const Value s = b.State("total", DType::kF32, {2, 3}, Initializer::Constant(2));
  const std::vector<Value> parts = b.Op("split", {{"X", {x}}}, {{"num", 2}, {"axis", 1}}, {{"Out", {Value(), Value()}}});
  ASSERT_EQ(parts.size(), 2u);
  b.Op("elementwise_add", {{"X", {s}}, {"Y", {parts[1]}}}, {}, {{"Out", {s}}});
  b.Fetch(s);
  ASSERT_OK_AND_ASSIGN(const Program program, b.Build());
  EXPECT_EQ(Brief(program),
            "feed  x : f32 [2, 6] stop_gradient\n"
            "state total : f32 [2, 3] stop_gradient = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]\n"
            "split_0.tmp_0, split_0.tmp_1 = split(x) axis=1 num=2 : f32 [2, 3], f32 [2, 3]\n"
            "total <- elementwise_add(total, split_0.tmp_1)\n"
            "fetch total\n");
}

TEST(ProgramBuilder, KeepsTheFirstError) {
  ProgramBuilder b;
  Value x = b.Feed("x", DType::kF32, {-1, -1, 8, 8});
  x = b.Conv2D(x, {.filters = 4, .kernel = 3});
  EXPECT_EQ(x.var, nullptr);
  x = b.FullyConnected(b.Relu(x), 10);
  b.Fetch(x);
  EXPECT_THAT(b.Build(), StatusIs(ExitCode::kUsage, "conv2d_0: found 'x' of type f32 [?, ?, 8, 8], needed dimension 1 to be known"));
}

// One size at a time, the others as they may be.
TEST(ProgramBuilder, LayersNeedPositiveSizes) {
  const auto message = [](auto&& use) {
    ProgramBuilder b;
    use(b, b.Feed("x", DType::kF32, {2, 4, 8, 8}));
    return std::string(b.status().message());
  };
  const auto conv = [&](Conv2DOptions options) { return message([&](ProgramBuilder& b, Value x) { b.Conv2D(x, options); }); };
  const auto fc = [&](int size, int flatten) {
    return message([&](ProgramBuilder& b, Value x) { b.FullyConnected(x, size, {.flatten = flatten}); });
  };
  for (const int bad : {-1, 0}) {
    EXPECT_THAT(conv({.filters = bad}), HasSubstr("needed positive numbers and groups that divide the channels"));
    EXPECT_THAT(conv({.filters = 4, .kernel = bad}), HasSubstr("needed positive numbers and groups that divide the channels"));
    EXPECT_THAT(conv({.filters = 4, .groups = bad}), HasSubstr("needed positive numbers and groups that divide the channels"));
    EXPECT_THAT(fc(bad, 1), HasSubstr("needed both from 1"));
  }
  EXPECT_THAT(conv({.filters = 4, .groups = 3}), HasSubstr("3 groups for 4 channels"));
  EXPECT_THAT(fc(3, 0), HasSubstr("needed both from 1"));
  EXPECT_EQ(conv({.filters = 1}), "");
  EXPECT_EQ(conv({.filters = 4, .groups = 4}), "");
  EXPECT_EQ(fc(1, 1), "");
}

TEST(ProgramBuilder, RefusesWhatItCannotUse) {
  const auto message = [](auto&& use) {
    ProgramBuilder b;
    use(b, b.Feed("x", DType::kF32, {4, 8}));
    return std::string(b.status().message());
  };
  EXPECT_EQ(message([](ProgramBuilder& b, Value) { b.Relu(Value()); }),
            "op 'relu', slot X: found an empty value, needed one of the builder's");
  EXPECT_EQ(message([](ProgramBuilder& b, Value) {
              ProgramBuilder other;
              b.Relu(other.Feed("z", DType::kF32, {4}));
            }),
            "op 'relu', slot X: found 'z' of another builder, needed one of this");
  EXPECT_EQ(message([](ProgramBuilder& b, Value x) { b.Op("rleu", {{"X", {x}}}); }), "found op 'rleu', needed one that has a record");
  EXPECT_EQ(message([](ProgramBuilder& b, Value x) {
              b.Op("relu", {{"Input", {x}}});
            }),
            "op 'relu': found the operand slot Input, needed one of its record");
  EXPECT_EQ(message([](ProgramBuilder& b, Value) { b.Feed("x", DType::kF32, {4}); }), "found feed 'x', needed a name that is not used");
  EXPECT_EQ(message([](ProgramBuilder& b, Value x) {
              b.Op("relu", {{"X", {x}}}, {}, {{"Out", {x}}});
            }),
            "op 'relu', slot Out: found the feed 'x' to overwrite, needed a param, state or carry");
  EXPECT_EQ(message([](ProgramBuilder& b, Value) { b.Param("w", DType::kF32, {-1, 4}); }).substr(0, 2), "w:");
  EXPECT_THAT(message([](ProgramBuilder& b, Value x) { b.Matmul(x, x); }), HasSubstr("op 'matmul_v2'"));
  EXPECT_THAT(message([](ProgramBuilder& b, Value x) { b.FullyConnected(x, 3, {.flatten = 2}); }),
              HasSubstr("needed dimension 2 to be known"));
}

TEST(InitialValues, DependOnSeedAndNameOnly) {
  const auto values = [](uint64_t seed, const char* name) {
    return InitialValues(Initializer::Normal(0, 1), DType::kF32, {1000}, seed, name);
  };
  ASSERT_OK_AND_ASSIGN(const HostTensor a, values(1, "w"));
  ASSERT_OK_AND_ASSIGN(const HostTensor same, values(1, "w"));
  ASSERT_OK_AND_ASSIGN(const HostTensor other_name, values(1, "v"));
  ASSERT_OK_AND_ASSIGN(const HostTensor other_seed, values(2, "w"));
  EXPECT_TRUE(a == same);
  EXPECT_FALSE(a == other_name);
  EXPECT_FALSE(a == other_seed);
  double sum = 0, squares = 0;
  for (float v : a.values<float>()) {
    sum += v;
    squares += v * v;
  }
  EXPECT_LT(std::abs(sum / 1000), 0.15);  // five standard errors of the mean
  EXPECT_LT(std::abs(squares / 1000 - 1), 0.25);
}

TEST(InitialValues, UniformStaysInItsBounds) {
  ASSERT_OK_AND_ASSIGN(const HostTensor t, InitialValues(Initializer::Uniform(-2, 3), DType::kF16, {1000}, 0, "w"));
  float low = 10, high = -10;
  for (Half v : t.values<Half>()) {
    low = std::min(low, static_cast<float>(v));
    high = std::max(high, static_cast<float>(v));
  }
  EXPECT_GE(low, -2);
  EXPECT_LT(low, -1.9);
  EXPECT_LE(high, 3);
  EXPECT_GT(high, 2.9);
}

}  // namespace
}  // namespace ampc
