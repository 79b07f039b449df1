// Indices out of range are errors of the caller, named by place and value; and what the golden data of index, sort and rnn ops does not
// show.
#include "graph/base/error.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Tensor kRows = F32({3, 2}, {0, 1, 10, 11, 20, 21});

void ExpectBadIndex(const OpRun& op, const std::string& message) { EXPECT_THAT(op.Run(), StatusIs(ExitCode::kUsage, HasSubstr(message))); }

TEST(BadIndex, GatherNd) {
  ExpectBadIndex(OpRun("gather_nd").In("X", kRows).In("Index", I64({2, 2}, {2, 1, 1, 2})).Out("Out"), "index 3 is 2, needs 0 to 1");
  ExpectBadIndex(OpRun("gather_nd").In("X", kRows).In("Index", I32({1, 1}, {-1})).Out("Out"), "index 0 is -1, needs 0 to 2");
}

TEST(BadIndex, IndexSelect) {
  ExpectBadIndex(OpRun("index_select").In("X", kRows).In("Index", I64({2}, {0, -1})).Out("Out"), "index 1 is -1, needs 0 to 2");
}

TEST(BadIndex, AlongAnAxis) {
  ExpectBadIndex(OpRun("index_sample").In("X", kRows).In("Index", I64({3, 1}, {0, 1, 2})).Out("Out"), "index 2 is 2, needs 0 to 1");
  ExpectBadIndex(OpRun("take_along_axis").In("Input", kRows).In("Index", I64({1, 2}, {0, 3})).Attr("Axis", int32_t{0}).Out("Result"),
                 "index 1 is 3, needs 0 to 2");
}

TEST(BadIndex, OfNoElements) {
  ExpectBadIndex(OpRun("gather_nd").In("X", F32({0, 2}, {})).In("Index", I64({1, 1}, {0})).Out("Out"),
                 "index 0 is 0, where there is no element");
}

TEST(BadIndex, Scatter) {
  const Tensor row = F32({1, 2}, {5, 6});
  ExpectBadIndex(OpRun("scatter").In("X", kRows).In("Ids", I64({1}, {3})).In("Updates", row).Out("Out"), "index 0 is 3, needs 0 to 2");
  ExpectBadIndex(OpRun("scatter_nd_add").In("X", kRows).In("Index", I64({1, 1}, {-3})).In("Updates", row).Out("Out"),
                 "index 0 is -3, needs 0 to 2");
}

OpRun Rnn(const Tensor& lengths) {
  const Tensor square = F32({1, 1}, {1}), bias = F32({1}, {0});
  return OpRun("rnn")
      .In("Input", F32({2, 2, 1}, {1, 2, 3, 4}))
      .In("PreState", F32({1, 2, 1}, {0, 0}))
      .In("WeightList", square)
      .In("WeightList", square)
      .In("WeightList", bias)
      .In("WeightList", bias)
      .In("SequenceLength", lengths)
      .Attr("mode", "RNN_RELU")
      .Attr("hidden_size", int32_t{1})
      .Out("Out")
      .Out("State");
}

TEST(Rnn, LengthsBeyondTheInput) {
  ASSERT_OK_AND_ASSIGN(const auto r, Rnn(I32({2}, {1, 2})).Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 2, 0, 6));
  EXPECT_THAT(r[1].floats(), ElementsAre(1, 6));
  ExpectBadIndex(Rnn(I32({2}, {1, 3})), "SequenceLength 1 is 3, needs 0 to 2");
  ExpectBadIndex(Rnn(I32({2}, {-1, 2})), "SequenceLength 0 is -1, needs 0 to 2");
}

// States stay fp32 inside: 2 + 1/128 rounded at every step would stay 2 in bf16.
TEST(Rnn, RoundsResultsOnly) {
  const auto low = [](const Shape& dims, const std::vector<float>& v) { return Low(DType::kBF16, dims, v); };
  constexpr int64_t kSteps = 300;
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("rnn")
                                         .In("Input", low({kSteps, 1, 1}, std::vector<float>(kSteps, 0.0078125f)))
                                         .In("PreState", low({1, 1, 1}, {2}))
                                         .In("WeightList", low({1, 1}, {1}))
                                         .In("WeightList", low({1, 1}, {1}))
                                         .In("WeightList", low({1}, {0}))
                                         .In("WeightList", low({1}, {0}))
                                         .Attr("mode", "RNN_RELU")
                                         .Attr("hidden_size", int32_t{1})
                                         .Out("Out")
                                         .Out("State")
                                         .Run());
  EXPECT_THAT(r[1].floats(), ElementsAre(4.34375f));  // 2 + 300 / 128
}

// 1000 equal keys: the order is that of the operand, whatever the algorithm.
TEST(Sort, StableAtEverySize) {
  constexpr int64_t kSize = 1000;
  std::vector<float> x(kSize);
  for (int64_t i = 0; i < kSize; ++i) x[i] = static_cast<float>(i % 3);
  for (const bool descending : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto r,
                         OpRun("argsort").In("X", F32({kSize}, x)).Attr("descending", descending).Out("Out").Out("Indices").Run());
    const auto at = r[1].As<int64_t>();
    for (int64_t i = 1; i < kSize; ++i) {
      const float a = x[at[i - 1]], b = x[at[i]];
      ASSERT_TRUE(descending ? a >= b : a <= b) << i;
      ASSERT_TRUE(a != b || at[i - 1] < at[i]) << i;
    }
  }
}

}  // namespace
}  // namespace ampc::testing
