// Indices out of range are errors of the caller, named by place and value; and what the golden data of index, sort and rnn ops does not
// show.
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/op_registry.h"
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

// An op that takes slices, and how many of them there are.
struct Indexed {
  std::string slot;
  int64_t size;
  std::function<OpRun(const Tensor& index)> op;
  bool from_end = false;
};

// Every record with an operand of indices, and again where numbers below 0 may count from the end.
std::multimap<std::string, Indexed> IndexedOps() {
  const Tensor row = F32({1, 2}, {5, 6}), one = F32({1, 1}, {7});
  const auto moved = [](const Tensor& t, Shape dims) {
    Tensor out = t;
    return out.stored.Reshape(dims).ok() ? out : t;
  };
  std::multimap<std::string, Indexed> ops;
  for (const bool from_end : {false, true}) {
    ops.emplace("gather", Indexed{"Index", 3,
                                  [=](const Tensor& i) {
                                    return OpRun("gather").In("X", kRows).In("Index", i).Attr("from_end", from_end).Out("Out");
                                  },
                                  from_end});
    ops.emplace("gather_nd", Indexed{"Index", 3,
                                     [=](const Tensor& i) {
                                       return OpRun("gather_nd").In("X", kRows).In("Index", i).Attr("from_end", from_end).Out("Out");
                                     },
                                     from_end});
    ops.emplace("take_along_axis", Indexed{"Index", 2,
                                           [=](const Tensor& i) {
                                             return OpRun("take_along_axis")
                                                 .In("Input", row)
                                                 .In("Index", moved(i, {1, 1}))
                                                 .Attr("Axis", int32_t{1})
                                                 .Attr("from_end", from_end)
                                                 .Out("Result");
                                           },
                                           from_end});
    ops.emplace("put_along_axis", Indexed{"Index", 2,
                                          [=](const Tensor& i) {
                                            return OpRun("put_along_axis")
                                                .In("Input", row)
                                                .In("Index", moved(i, {1, 1}))
                                                .In("Value", one)
                                                .Attr("Axis", int32_t{1})
                                                .Attr("from_end", from_end)
                                                .Out("Result");
                                          },
                                          from_end});
  }
  ops.emplace("index_select",
              Indexed{"Index", 3, [=](const Tensor& i) { return OpRun("index_select").In("X", kRows).In("Index", i).Out("Out"); }});
  ops.emplace("index_sample", Indexed{"Index", 2, [=](const Tensor& i) {
                                        return OpRun("index_sample").In("X", row).In("Index", moved(i, {1, 1})).Out("Out");
                                      }});
  ops.emplace("scatter", Indexed{"Ids", 3, [=](const Tensor& i) {
                                   return OpRun("scatter").In("X", kRows).In("Ids", i).In("Updates", row).Out("Out");
                                 }});
  ops.emplace("scatter_nd_add",
              Indexed{"Index", 3, [=](const Tensor& i) {
                        return OpRun("scatter_nd_add").In("X", kRows).In("Index", moved(i, {1, 1})).In("Updates", row).Out("Out");
                      }});
  ops.emplace("scatter_nd_update",
              Indexed{"Index", 3,
                      [=](const Tensor& i) {
                        return OpRun("scatter_nd_update").In("X", kRows).In("Index", moved(i, {1, 1})).In("Updates", row).Out("Out");
                      },
                      true});
  ops.emplace("lookup_table", Indexed{"Ids", 3, [=](const Tensor& i) {
                                        return OpRun("lookup_table").In("W", kRows).In("Ids", moved(i, {1, 1})).Out("Out");
                                      }});
  ops.emplace("lookup_table_v2",
              Indexed{"Ids", 3, [=](const Tensor& i) { return OpRun("lookup_table_v2").In("W", kRows).In("Ids", i).Out("Out"); }});
  ops.emplace("one_hot_v2", Indexed{"X", 3, [=](const Tensor& i) {
                                      return OpRun("one_hot_v2").In("X", i).Attr("depth", int32_t{3}).Attr("dtype", DType::kF32).Out("Out");
                                    }});
  return ops;
}

TEST(BadIndex, EveryRecordAtEveryEnd) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  constexpr int32_t kMost32 = std::numeric_limits<int32_t>::max(), kLeast32 = std::numeric_limits<int32_t>::min();
  const std::multimap<std::string, Indexed> ops = IndexedOps();
  for (const auto& [name, op] : ops) {
    SCOPED_TRACE(absl::StrCat(name, op.from_end ? " from the end" : ""));
    const int64_t least = op.from_end ? -op.size : 0;
    for (const int64_t good : {least, op.size - 1}) {
      EXPECT_OK(op.op(I64({1}, {good})).Run().status());
      EXPECT_OK(op.op(I32({1}, {static_cast<int32_t>(good)})).Run().status());
    }
    for (const int64_t bad :
         {least - 1, op.size, -op.size - 1, kMost, kLeast, (int64_t{1} << 53) + 1, int64_t{1} << 62, int64_t{1} << 32}) {
      ExpectBadIndex(op.op(I64({1}, {bad})), absl::StrCat("index 0 is ", bad, ", needs ", least, " to ", op.size - 1));
    }
    for (const int32_t bad : {static_cast<int32_t>(-op.size - 1), static_cast<int32_t>(op.size), kMost32, kLeast32}) {
      ExpectBadIndex(op.op(I32({1}, {bad})), absl::StrCat("index 0 is ", bad, ", needs ", least, " to ", op.size - 1));
    }
  }
  for (const OpDef* def : Ops().All()) {
    const bool indexed = def->InputSlot("Index") >= 0 || def->InputSlot("Ids") >= 0;
    if (!indexed || absl::EndsWith(def->name, "_grad")) continue;
    EXPECT_TRUE(ops.contains(def->name)) << def->name;
  }
}

// Indexes that count from the end name the same elements.
TEST(Index, FromTheEnd) {
  const auto run = [](OpRun op) { return op.Attr("from_end", true).Run(); };
  ASSERT_OK_AND_ASSIGN(const auto rows, run(OpRun("gather").In("X", kRows).In("Index", I64({3}, {-1, -3, 1})).Out("Out")));
  EXPECT_THAT(rows[0].floats(), ElementsAre(20, 21, 0, 1, 10, 11));
  ASSERT_OK_AND_ASSIGN(const auto cells, run(OpRun("gather_nd").In("X", kRows).In("Index", I64({2, 2}, {-1, 0, 0, -1})).Out("Out")));
  EXPECT_THAT(cells[0].floats(), ElementsAre(20, 1));
  ASSERT_OK_AND_ASSIGN(
      const auto along,
      run(OpRun("take_along_axis").In("Input", kRows).In("Index", I32({1, 2}, {-1, -3})).Attr("Axis", int32_t{0}).Out("Result")));
  EXPECT_THAT(along[0].floats(), ElementsAre(20, 1));
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
