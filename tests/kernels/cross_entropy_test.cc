// cross_entropy and softmax_with_cross_entropy against double arithmetic.
#include <cmath>
#include <limits>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct XentCase {
  Shape dims;
  int axis;
  bool soft, stable, softmax;  // softmax: use_softmax
  float range;                 // logits in [-range, range)
};

class SoftmaxXent : public ::testing::TestWithParam<XentCase> {};

TEST_P(SoftmaxXent, AgreesWithDouble) {
  const XentCase& c = GetParam();
  const int axis = c.axis < 0 ? c.axis + static_cast<int>(c.dims.size()) : c.axis;
  int64_t outer = 1, inner = 1;
  const int64_t n = c.dims[axis];
  for (int d = 0; d < static_cast<int>(c.dims.size()); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= c.dims[d];
  }
  const Tensor logits = c.softmax ? Random(c.dims, 1, -c.range, c.range) : Random(c.dims, 1, 0.01f, 1);
  Shape label_dims = c.dims;
  label_dims[axis] = 1;
  Tensor labels = c.soft ? Random(c.dims, 2, 0, 1) : I64(label_dims, std::vector<int64_t>(outer * inner));
  for (int64_t r = 0; r < outer * inner && !c.soft; ++r) labels.stored.mutable_values<int64_t>()[r] = r % 5 == 3 ? -100 : r * 7 % n;
  OpRun run("softmax_with_cross_entropy");
  run.In("Logits", logits).In("Label", labels).Attr("axis", c.axis).Attr("soft_label", c.soft).Attr("numeric_stable_mode", c.stable);
  ASSERT_OK_AND_ASSIGN(const auto r, run.Attr("use_softmax", c.softmax).Out("Softmax").Out("Loss").Run());
  const auto x = logits.stored.values<float>(), softmax = r[0].stored.values<float>(), loss = r[1].stored.values<float>();
  for (int64_t row = 0; row < outer * inner; ++row) {
    const auto at = [&](int64_t k) { return (row / inner * n + k) * inner + row % inner; };
    double sum = 0, want = 0, max = -kInf;
    for (int64_t k = 0; k < n; ++k) max = std::max<double>(max, x[at(k)]);
    for (int64_t k = 0; k < n; ++k) sum += std::exp(x[at(k)] - max);
    const auto class_loss = [&](int64_t k) {
      return c.softmax ? std::log(sum) - (x[at(k)] - max) : -std::log(static_cast<double>(x[at(k)]));
    };
    for (int64_t k = 0; k < n; ++k) {
      const double p = c.softmax ? std::exp(x[at(k)] - max) / sum : x[at(k)];
      ASSERT_TRUE(Near(softmax[at(k)], p, ToleranceFor(DType::kF32)));
      if (c.soft) want += labels.stored.values<float>()[at(k)] * class_loss(k);
    }
    if (!c.soft) {
      const int64_t label = labels.stored.values<int64_t>()[row];
      want = label == -100 ? 0 : class_loss(label);
    }
    ASSERT_TRUE(Near(loss[row], want, ToleranceFor(DType::kF32))) << loss[row] << " needs " << want;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SoftmaxXent,
                         ::testing::Values(XentCase{{4, 10}, -1, false, true, true, 5}, XentCase{{4, 10}, -1, true, true, true, 5},
                                           XentCase{{4, 10}, 1, false, false, true, 5}, XentCase{{4, 10}, 1, true, false, true, 5},
                                           XentCase{{4, 10}, -1, false, true, false, 5}, XentCase{{4, 10}, -1, true, true, false, 5},
                                           XentCase{{3, 7, 5}, 1, false, true, true, 5}, XentCase{{3, 7, 5}, 1, true, true, true, 5},
                                           XentCase{{3, 7, 5}, 0, false, false, true, 5}, XentCase{{3, 7, 5}, -2, true, true, false, 5},
                                           XentCase{{4, 10}, -1, false, true, true, 500}, XentCase{{9, 6625}, -1, false, true, true, 20},
                                           XentCase{{40, 33, 70}, 1, false, true, true, 9}, XentCase{{3, 1}, -1, false, true, true, 5},
                                           XentCase{{0, 4}, -1, false, true, true, 5}));

TEST(SoftmaxXent, SaturatedLogitsGiveALargeFiniteLoss) {
  const Tensor logits = F32({2, 2}, {0, 200, -kInf, 0});
  OpRun stable("softmax_with_cross_entropy"), unstable = stable;
  ASSERT_OK_AND_ASSIGN(auto r, stable.In("Logits", logits).In("Label", I64({2, 1}, {0, 1})).Out("Softmax").Out("Loss").Run());
  EXPECT_EQ(r[1].floats()[0], 200);
  EXPECT_EQ(r[1].floats()[1], 0);
  unstable.In("Logits", logits).In("Label", I64({2, 1}, {0, 1})).Attr("numeric_stable_mode", false);
  ASSERT_OK_AND_ASSIGN(r, unstable.Out("Softmax").Out("Loss").Run());
  EXPECT_EQ(r[1].floats()[0], 1e20f);  // softmax is 0, its logarithm not finite
}

TEST(SoftmaxXent, LowPrecisionLogitsRoundTheResultsOnly) {
  const Tensor logits = Low(DType::kF16, {1, 3}, {10, 11, 12});
  ASSERT_OK_AND_ASSIGN(
      const auto r,
      OpRun("softmax_with_cross_entropy").In("Logits", logits).In("Label", I32({1, 1}, {0})).Out("Softmax").Out("Loss").Run());
  const double sum = 1 + std::exp(1) + std::exp(2);
  EXPECT_EQ(r[1].floats()[0], Low(DType::kF16, {1}, {static_cast<float>(std::log(sum))}).floats()[0]);
  EXPECT_EQ(r[0].floats()[1], Low(DType::kF16, {1}, {static_cast<float>(std::exp(1) / sum)}).floats()[0]);
}

TEST(SoftmaxXent, ALabelOutOfRangeIsAnErrorThatNamesIt) {
  const Tensor logits = Random({3, 4}, 1);
  EXPECT_THAT(OpRun("softmax_with_cross_entropy").In("Logits", logits).In("Label", I64({3, 1}, {0, 4, 1})).Out("Softmax").Out("Loss").Run(),
              StatusIs(ExitCode::kUsage, HasSubstr("label 1 is 4, needs 0 to 3")));
}

TEST(CrossEntropy, HardSoftIgnoredAndZeroProbability) {
  const Tensor p = F32({4, 2}, {0.25, 0.75, 0.5, 0.5, 1, 0, 1, 0});
  ASSERT_OK_AND_ASSIGN(auto r,
                       OpRun("cross_entropy").In("X", p).In("Label", I64({4, 1}, {1, 7, 0, 1})).Attr("ignore_index", 7).Out("Y").Run());
  EXPECT_FLOAT_EQ(r[0].floats()[0], -std::log(0.75f));
  EXPECT_EQ(r[0].floats()[1], 0);
  EXPECT_EQ(r[0].floats()[2], 0);
  EXPECT_EQ(r[0].floats()[3], 1e20f);
  ASSERT_OK_AND_ASSIGN(
      r,
      OpRun("cross_entropy").In("X", F32({1, 2}, {0.25, 0.5})).In("Label", F32({1, 2}, {0.5, 2})).Attr("soft_label", true).Out("Y").Run());
  EXPECT_FLOAT_EQ(r[0].floats()[0], -0.5f * std::log(0.25f) - 2 * std::log(0.5f));
}

}  // namespace
}  // namespace ampc::testing
