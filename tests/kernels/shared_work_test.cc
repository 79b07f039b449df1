// Kernels on tensors large enough that several threads share them: OpRun compares one thread with three. tests/golden/ops holds the
// results; here they are checked by samples.
#include <cmath>
#include <string>
#include <tuple>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

const Shape kShape = {5, 130, 211};  // no multiple of any block
constexpr int64_t kElements = 5 * 130 * 211, kRow = 211, kPlane = 130 * 211;

TEST(SharedWork, ComparisonsTruthAndChoice) {
  const Tensor x = Random(kShape, 1), y = Random({130, 1}, 2);
  ASSERT_OK_AND_ASSIGN(const auto less, OpRun("less_than").In("X", x).In("Y", y).Out("Out").Run());
  ASSERT_OK_AND_ASSIGN(const auto more, OpRun("logical_not").In("X", less[0]).Out("Out").Run());
  ASSERT_OK_AND_ASSIGN(const auto both, OpRun("logical_xor").In("X", less[0]).In("Y", more[0]).Out("Out").Run());
  ASSERT_OK_AND_ASSIGN(const auto one, OpRun("where").In("Condition", less[0]).In("X", x).In("Y", Random(kShape, 3)).Out("Out").Run());
  const auto in = x.stored.values<float>(), chosen = one[0].stored.values<float>();
  const std::vector<float> bound = y.floats();
  for (int64_t i = 0; i < kElements; ++i) {
    const bool needed = in[i] < bound[i / kRow % 130];
    ASSERT_EQ(less[0].stored.values<bool>()[i], needed) << i;
    ASSERT_TRUE(both[0].stored.values<bool>()[i]) << i;
    if (needed) {
      ASSERT_EQ(chosen[i], in[i]) << i;
    }
  }
}

TEST(SharedWork, SlopesPerChannel) {
  const Tensor x = Random(kShape, 1), alpha = Random({130}, 2);
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("prelu").In("X", x).In("Alpha", alpha).Attr("mode", "channel").Out("Out").Run());
  const auto in = x.stored.values<float>(), out = r[0].stored.values<float>();
  const std::vector<float> slope = alpha.floats();
  for (int64_t i = 0; i < kElements; ++i) ASSERT_EQ(out[i], in[i] < 0 ? in[i] * slope[i / kRow % 130] : in[i]) << i;
}

// The channels of several positions are computed as one row.
TEST(SharedWork, SlopesOfFewChannelsThatLieLast) {
  for (const int64_t channels : {2, 3, 8, 100, 300}) {
    const Tensor x = Random({2, channels, 97, 130}, 1), alpha = Random({channels}, 2);
    OpRun plain("prelu"), last("prelu");
    for (OpRun* run : {&plain, &last}) run->In("X", x).In("Alpha", alpha).Attr("mode", "channel").Out("Out");
    last.ChannelsLast("X").ChannelsLast("Out");
    ASSERT_OK_AND_ASSIGN(const auto needed, plain.Run());
    ASSERT_OK_AND_ASSIGN(const auto found, last.Run());
    EXPECT_EQ(found[0].floats(), needed[0].floats()) << channels;
  }
}

TEST(SharedWork, RunningSumsAndNorms) {
  const Tensor x = Random(kShape, 1);
  const auto in = x.stored.values<float>();
  ASSERT_OK_AND_ASSIGN(const auto sums, OpRun("cumsum").In("X", x).Attr("axis", 1).Out("Out").Run());
  ASSERT_OK_AND_ASSIGN(const auto norms, OpRun("p_norm").In("X", x).Attr("axis", 1).Out("Out").Run());
  ASSERT_OK_AND_ASSIGN(const auto logs, OpRun("logsumexp").In("X", x).Attr("axis", std::vector<int32_t>{0, 2}).Out("Out").Run());
  for (int64_t c : {0, 64, 210}) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 130; ++i) {
      const double v = in[3 * kPlane + i * kRow + c];
      sum += v;
      squares += v * v;
    }
    EXPECT_FLOAT_EQ(sums[0].floats()[3 * kPlane + 129 * kRow + c], static_cast<float>(sum));
    EXPECT_FLOAT_EQ(norms[0].floats()[3 * kRow + c], static_cast<float>(std::sqrt(squares)));
  }
  double total = 0;
  for (int64_t b = 0; b < 5; ++b) {
    for (int64_t c = 0; c < kRow; ++c) total += std::exp(static_cast<double>(in[b * kPlane + 7 * kRow + c]));
  }
  EXPECT_FLOAT_EQ(logs[0].floats()[7], static_cast<float>(std::log(total)));
}

TEST(SharedWork, LogSoftmaxSumsToOneAlongEveryAxis) {
  const Tensor x = Random(kShape, 1);
  for (const auto& [axis, step, size, first] :
       {std::tuple{2, int64_t{1}, kRow, 6 * kRow}, std::tuple{1, kRow, int64_t{130}, kPlane + 77}}) {
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun("log_softmax").In("X", x).Attr("axis", axis).Out("Out").Run());
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += std::exp(static_cast<double>(r[0].stored.values<float>()[first + i * step]));
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(SharedWork, Triangles) {
  const Tensor x = Random(kShape, 1);
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("tril_triu").In("X", x).Attr("lower", true).Attr("diagonal", 3).Out("Out").Run());
  for (int64_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(r[0].stored.values<float>()[i], i % kRow <= i / kRow % 130 + 3 ? x.stored.values<float>()[i] : 0) << i;
  }
}

TEST(Refused, IntegerRemaindersByZero) {
  for (const char* op : {"elementwise_mod", "elementwise_floordiv"}) {
    EXPECT_THAT(OpRun(op).In("X", I32({2}, {1, 2})).In("Y", I32({2}, {1, 0})).Out("Out").Run(),
                StatusIs(ExitCode::kUsage, HasSubstr("divided by zero")));
  }
}

TEST(Refused, AnIndexWithoutAPlace) {
  for (int64_t bad : {3, -1}) {
    EXPECT_THAT(OpRun("one_hot_v2").In("X", I64({2}, {0, bad})).Attr("depth", 3).Out("Out").Run(),
                StatusIs(ExitCode::kUsage, HasSubstr("index 1 is " + std::to_string(bad) + ", needs 0 to 2")));
  }
}

TEST(Refused, TypesWithoutAKernel) {
  EXPECT_THAT(OpRun("logical_and").In("X", F32({1}, {1})).In("Y", I32({1}, {1})).Out("Out").Run(),
              StatusIs(ExitCode::kUnsupported, HasSubstr("types f32 and i32 have no common cpu kernel")));
  EXPECT_THAT(OpRun("atan2").In("X1", I32({1}, {1})).In("X2", I32({1}, {1})).Out("Out").Run(),
              StatusIs(ExitCode::kUnsupported, HasSubstr("no cpu kernel for i32")));
}

TEST(ReduceAny, AxesMayComeInATensor) {
  const Tensor x = Of({2, 2}, std::vector<bool>{true, false, false, false});
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("reduce_any").In("X", x).Const("AxisTensor", I32({1}, {1})).Out("Out").Run());
  EXPECT_TRUE(r[0].stored.values<bool>()[0]);
  EXPECT_FALSE(r[0].stored.values<bool>()[1]);
}

}  // namespace
}  // namespace ampc::testing
