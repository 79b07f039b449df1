#include "graph/layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/base/host_tensor.h"
#include "graph/verify.h"
#include "runtime/session.h"
#include "tests/testlib/round_trip.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::StatusIs;

// The fetch of a program with the one feed x.
std::vector<float> RunOne(ProgramBuilder& b, Value y, HostTensor x, TensorMap others = {}) {
  b.Fetch(y);
  absl::StatusOr<Program> program = b.Build();
  EXPECT_OK(program);
  if (!program.ok()) return {};
  EXPECT_OK(testing::CheckRoundTrip(*program));
  absl::StatusOr<Session> session = Session::Create(b.CloneForTest());
  EXPECT_OK(session);
  if (!session.ok()) return {};
  others["x"] = std::move(x);
  const absl::StatusOr<TensorMap> out = session->Run(others);
  EXPECT_OK(out);
  if (!out.ok()) return {};
  const absl::Span<const float> values = out->begin()->second.values<float>();
  return {values.begin(), values.end()};
}

TEST(Layers, LayerNormNormalisesRows) {
  ProgramBuilder b;
  const Value y = layers::LayerNorm(b, b.Feed("x", DType::kF32, {-1, 2, 2}), {.epsilon = 0});
  const float s = std::sqrt(1.25f);
  EXPECT_THAT(RunOne(b, y, HostTensor::Of<float>({1, 2, 2}, {1, 2, 3, 4})),
              Pointwise(FloatNear(1e-6f), {-1.5f / s, -0.5f / s, 0.5f / s, 1.5f / s}));
}

TEST(Layers, EmbeddingTakesRows) {
  ProgramBuilder b;
  const Value ids = b.Feed("x", DType::kI64, {-1, 2});
  const Value y = layers::Embedding(b, ids, 5, 3);
  ASSERT_OK(b.status());
  const Var* w = b.program().main().FindVar("embedding_0.w_0");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->type.dims, (Dims{5, 3}));
  const std::vector<float> got = RunOne(b, y, HostTensor::Of<int64_t>({1, 2}, {4, 4}));
  ASSERT_EQ(got.size(), 6u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(got[i], got[i + 3]);
    EXPECT_LT(std::abs(got[i]), std::sqrt(6.0 / 8));
    EXPECT_NE(got[i], 0);
  }
}

TEST(Layers, LstmGivesItsLastState) {
  ProgramBuilder b;
  const auto [all, last] = layers::Lstm(b, b.Feed("x", DType::kF32, {3, -1, 2}), {.hidden = 4, .layers = 2});
  ASSERT_OK(b.status());
  EXPECT_EQ(all.var->type.dims, (Dims{3, -1, 4}));
  EXPECT_EQ(last.var->type.dims, (Dims{-1, 4}));
  const Value end = b.Op("slice", {{"Input", {all}}},
                         {{"axes", std::vector<int32_t>{0}},
                          {"starts", std::vector<int32_t>{2}},
                          {"ends", std::vector<int32_t>{3}},
                          {"decrease_axis", std::vector<int32_t>{0}}});
  const Value both = b.Op("concat", {{"X", {last, end}}}, {{"axis", 0}});
  const std::vector<float> got = RunOne(b, both, HostTensor::Of<float>({3, 1, 2}, {1, 2, 3, -1, -2, 0.5f}));
  ASSERT_EQ(got.size(), 8u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(got[i], got[i + 4]);
    EXPECT_NE(got[i], 0);
  }
}

TEST(Layers, DropoutLayersShareAStateThatCounts) {
  ProgramBuilder b;
  Value x = b.Feed("x", DType::kF32, {3});
  for (int i = 0; i < 2; ++i) x = layers::Dropout(b, x);
  ASSERT_OK(b.Build());
  int dropouts = 0, increments = 0;
  for (const auto& op : b.program().main().ops()) {
    if (op->type() == "increment" && op->output(0)->name() == "dropout_seed") {
      ++increments;
      EXPECT_EQ(op->GetFloat("step"), 1.0f);  // another mask in each step
    }
    if (op->type() != "dropout") continue;
    EXPECT_EQ(op->GetInt("seed"), ++dropouts);
    ASSERT_NE(op->input("Seed"), nullptr);
    EXPECT_EQ(op->input("Seed")->name(), "dropout_seed");
  }
  EXPECT_EQ(dropouts, 2);
  EXPECT_EQ(increments, 1);
  const Program test = b.CloneForTest();
  EXPECT_OK(Verify(test));
  EXPECT_EQ(test.main().ops().size(), 2u);
  EXPECT_EQ(test.main().FindVar("dropout_seed"), nullptr);
}

TEST(Layers, DropoutIsOffInATestClone) {
  ProgramBuilder b;
  const Value y = layers::Dropout(b, b.Feed("x", DType::kF32, {3}), {.prob = 0.9f});
  EXPECT_THAT(RunOne(b, y, HostTensor::Of<float>({3}, {1, 2, 3})), ElementsAre(1, 2, 3));
}

TEST(Layers, SelfAttentionOfEqualTokensIsTheSameForEach) {
  ProgramBuilder b;
  const Value y = layers::SelfAttention(b, b.Feed("x", DType::kF32, {-1, 2, 4}), {.heads = 2, .dropout = 0.5f});
  ASSERT_OK(b.status());
  EXPECT_EQ(y.var->type.dims, (Dims{-1, 2, 4}));
  const std::vector<float> got = RunOne(b, y, HostTensor::Of<float>({1, 2, 4}, {1, 2, -3, 4, 1, 2, -3, 4}));
  ASSERT_EQ(got.size(), 8u);
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(got[i], got[i + 4]);
  EXPECT_NE(got[0], got[1]);
}

TEST(Layers, OneHeadIsEnough) {
  ProgramBuilder b;
  EXPECT_EQ(layers::SelfAttention(b, b.Feed("x", DType::kF32, {-1, 2, 3}), {.heads = 1}).var->type.dims, (Dims{-1, 2, 3}));
  for (const int heads : {0, -1}) {
    ProgramBuilder other;
    layers::SelfAttention(other, other.Feed("x", DType::kF32, {-1, 2, 3}), {.heads = heads});
    EXPECT_THAT(other.status(), StatusIs(ExitCode::kUsage, HasSubstr("needed a number that divides them")));
  }
}

TEST(Layers, MeanSquareError) {
  ProgramBuilder b;
  const Value x = b.Feed("x", DType::kF32, {-1, 2}), t = b.Feed("t", DType::kF32, {-1, 2});
  EXPECT_THAT(
      RunOne(b, layers::MeanSquareError(b, x, t), HostTensor::Of<float>({1, 2}, {1, 2}), {{"t", HostTensor::Of<float>({1, 2}, {2, 5})}}),
      ElementsAre(5));
}

TEST(Layers, AccuracyCountsRows) {
  ProgramBuilder b;
  const Value x = b.Feed("x", DType::kF32, {-1, 3}), t = b.Feed("t", DType::kI64, {-1, 1});
  const Value accuracy = layers::Accuracy(b, x, t);
  ASSERT_OK(b.status());
  EXPECT_TRUE(accuracy.var->stop_gradient);
  EXPECT_THAT(RunOne(b, accuracy, HostTensor::Of<float>({4, 3}, {1, 2, 3, 3, 2, 1, 1, 3, 2, 0, 0, 1}),
                     {{"t", HostTensor::Of<int64_t>({4, 1}, {2, 0, 0, 2})}}),
              ElementsAre(0.75f));
}

TEST(Layers, SayWhatTheyNeed) {
  {
    ProgramBuilder b;
    layers::LayerNorm(b, b.Feed("x", DType::kF32, {-1, -1}));
    EXPECT_THAT(b.status(),
                StatusIs(ExitCode::kUsage, HasSubstr("layer_norm_0: found 'x' of type f32 [?, ?], needed the dimensions from 1 on known")));
  }
  {
    ProgramBuilder b;
    layers::Lstm(b, b.Feed("x", DType::kF32, {4, 5}), {.hidden = 3});
    EXPECT_THAT(b.status(), StatusIs(ExitCode::kUsage, HasSubstr("needed 3 dimensions, those from 2 on known")));
  }
  {
    ProgramBuilder b;
    layers::SelfAttention(b, b.Feed("x", DType::kF32, {-1, 2, 6}), {.heads = 4});
    EXPECT_THAT(b.status(), StatusIs(ExitCode::kUsage, HasSubstr("found 4 heads for 6 features")));
  }
  {
    ProgramBuilder b;
    layers::SelfAttention(b, {}, {.heads = 4});
    EXPECT_THAT(b.status(), StatusIs(ExitCode::kUsage, HasSubstr("found an empty value")));
  }
}

}  // namespace
}  // namespace ampc
