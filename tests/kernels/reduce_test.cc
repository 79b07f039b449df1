// reduce_*, mean and arg_max against loops in double.
#include <cmath>
#include <limits>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
using Ints = std::vector<int32_t>;

struct ReduceCase {
  Shape dims;
  Ints axes;
  bool keep = false, all = false;
  Shape out;
};

class Reduce : public ::testing::TestWithParam<ReduceCase> {};

// The result element that element `i` of the operand falls into.
std::vector<int64_t> Targets(const ReduceCase& c) {
  const int rank = static_cast<int>(c.dims.size());
  std::vector<bool> gone(rank, c.all || c.axes.empty());
  for (int a : c.axes) gone[a < 0 ? a + rank : a] = true;
  int64_t n = 1;
  for (int64_t d : c.dims) n *= d;
  std::vector<int64_t> target(n);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, size = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (!gone[d]) {
        target[i] += rest % c.dims[d] * size;
        size *= c.dims[d];
      }
      rest /= c.dims[d];
    }
  }
  return target;
}

TEST_P(Reduce, AgreesWithLoop) {
  const ReduceCase& c = GetParam();
  const Tensor x = Random(c.dims, 4);
  const std::vector<float> v = x.floats();
  const std::vector<int64_t> target = Targets(c);
  int64_t n = 1;
  for (int64_t d : c.out) n *= d;
  std::vector<double> sum(n, 0), magnitude(n, 0), max(n, -kInf), min(n, kInf), count(n, 0);
  for (size_t i = 0; i < v.size(); ++i) {
    sum[target[i]] += v[i];
    magnitude[target[i]] += std::abs(v[i]);
    max[target[i]] = std::max<double>(max[target[i]], v[i]);
    min[target[i]] = std::min<double>(min[target[i]], v[i]);
    ++count[target[i]];
  }
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
    ASSERT_OK_AND_ASSIGN(const auto r,
                         OpRun(op).In("X", x).Attr("dim", c.axes).Attr("keep_dim", c.keep).Attr("reduce_all", c.all).Out("Out").Run());
    ASSERT_EQ(Shape(r[0].dims().begin(), r[0].dims().end()), c.out);
    for (int64_t i = 0; i < n; ++i) {
      const double found = r[0].stored.values<float>()[i];
      if (op == "reduce_max" || op == "reduce_min") {
        ASSERT_EQ(found, op == "reduce_max" ? max[i] : min[i]) << op;
      } else {
        // A run of 4096 adds in 64 + 6 steps; the rest is exact.
        const double scale = op == "reduce_sum" ? 1 : 1 / count[i];
        ASSERT_NEAR(found, sum[i] * scale, 70 * 0x1p-24 * magnitude[i] * scale + 1e-30) << op << " at " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Reduce,
                         ::testing::Values(ReduceCase{{7}, {0}, false, false, {}},                          //
                                           ReduceCase{{7}, {-1}, true, false, {1}},                         //
                                           ReduceCase{{1}, {0}, false, false, {}},                          //
                                           ReduceCase{{3, 5}, {1}, false, false, {3}},                      //
                                           ReduceCase{{3, 5}, {0}, false, false, {5}},                      //
                                           ReduceCase{{3, 5}, {}, false, false, {}},                        //
                                           ReduceCase{{3, 5}, {0}, true, true, {1, 1}},                     //
                                           ReduceCase{{2, 3, 4, 5}, {2, 3}, true, false, {2, 3, 1, 1}},     //
                                           ReduceCase{{2, 3, 4, 5}, {-1, -2}, false, false, {2, 3}},        //
                                           ReduceCase{{2, 3, 4, 5}, {0, 2}, false, false, {3, 5}},          //
                                           ReduceCase{{2, 3, 4, 5}, {1, 3}, false, false, {2, 4}},          //
                                           ReduceCase{{2, 1, 4, 1, 3}, {2}, true, false, {2, 1, 1, 1, 3}},  //
                                           ReduceCase{{3, 4, 129}, {0, 1}, false, false, {129}},            //
                                           ReduceCase{{9, 4097}, {1}, false, false, {9}},                   //
                                           ReduceCase{{4097, 9}, {0}, false, false, {9}},                   //
                                           ReduceCase{{300000}, {0}, false, false, {}},                     //
                                           ReduceCase{{30000, 5}, {0}, false, false, {5}},                  //
                                           ReduceCase{{40, 3, 700}, {0, 2}, false, false, {3}},             //
                                           ReduceCase{{2, 2000, 70}, {1}, false, false, {2, 70}}));

TEST(Reduce, NothingGivesTheNeutralElement) {
  const Tensor none = F32({0, 2}, {});
  const auto run = [&](const char* op) { return OpRun(op).In("X", none).Attr("dim", Ints{0}).Out("Out").Run(); };
  ASSERT_OK_AND_ASSIGN(auto r, run("reduce_sum"));
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0));
  ASSERT_OK_AND_ASSIGN(r, run("reduce_max"));
  EXPECT_THAT(r[0].floats(), ElementsAre(-kInf, -kInf));
  ASSERT_OK_AND_ASSIGN(r, run("reduce_mean"));
  EXPECT_TRUE(std::isnan(r[0].floats()[0]));
  ASSERT_OK_AND_ASSIGN(r, OpRun("reduce_sum").In("X", F32({2, 0}, {})).Attr("dim", Ints{0}).Out("Out").Run());
  EXPECT_EQ(r[0].stored.num_elements(), 0);
}

TEST(Reduce, NonFiniteValuesPropagate) {
  std::vector<float> v(200, 1);
  v[77] = kNaN;
  v[3] = kInf;
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
    ASSERT_OK_AND_ASSIGN(auto r, OpRun(op).In("X", F32({200}, v)).Attr("dim", Ints{0}).Out("Out").Run());
    EXPECT_TRUE(std::isnan(r[0].floats()[0])) << op;
    ASSERT_OK_AND_ASSIGN(r, OpRun(op).In("X", F32({100, 2}, v)).Attr("dim", Ints{0}).Out("Out").Run());
    EXPECT_TRUE(std::isnan(r[0].floats()[1])) << op;
    EXPECT_FALSE(std::isnan(r[0].floats()[0])) << op;
  }
}

TEST(Reduce, LowPrecisionAccumulatesInF32) {
  const Tensor ones = Low(DType::kF16, {5000}, std::vector<float>(5000, 1));
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("reduce_sum").In("X", ones).Attr("dim", Ints{0}).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(5000));
  const Tensor big = Low(DType::kF16, {4}, {60000, 60000, 60000, 60000});
  ASSERT_OK_AND_ASSIGN(r, OpRun("reduce_sum").In("X", big).Attr("dim", Ints{0}).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(kInf));
  ASSERT_OK_AND_ASSIGN(r, OpRun("reduce_mean").In("X", big).Attr("dim", Ints{0}).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(60000));
}

TEST(Reduce, IntegersBoolAndDouble) {
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("reduce_sum").In("X", I32({2, 2}, {1, 2, 3, -9})).Attr("dim", Ints{1}).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(3, -6));
  ASSERT_OK_AND_ASSIGN(r, OpRun("reduce_max").In("X", I64({2, 2}, {1, 2, 3, -9})).Attr("dim", Ints{0}).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(3, 2));
  ASSERT_OK_AND_ASSIGN(r, OpRun("reduce_sum")
                              .In("X", Of({3}, std::vector<bool>{true, false, true}))
                              .Attr("dim", Ints{0})
                              .Attr("out_dtype", DType::kI64)
                              .Out("Out")
                              .Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(2));
  ASSERT_OK_AND_ASSIGN(r, OpRun("reduce_mean").In("X", Of<double>({3}, {1, 1e-12, 2})).Attr("dim", Ints{0}).Out("Out").Run());
  EXPECT_NEAR(r[0].doubles()[0], 1 + 1e-12 / 3, 1e-15);
}

TEST(Mean, IsOverEverything) {
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("mean").In("X", F32({2, 2}, {1, 2, 3, 6})).OutAs("Out", TensorType(DType::kF32, {1})).Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(3));
}

TEST(ArgMax, FirstOfEqualsAndPastNaN) {
  const auto run = [](const Tensor& x, int64_t axis) { return OpRun("arg_max").In("X", x).Attr("axis", axis).Out("Out").Run(); };
  ASSERT_OK_AND_ASSIGN(auto r, run(F32({2, 4}, {1, 5, 5, 2, 3, kNaN, 9, kNaN}), 1));
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(r, run(F32({2, 3}, {1, 5, -kInf, 2, 3, -kInf}), 0));
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(1, 0, 0));
  ASSERT_OK_AND_ASSIGN(r, run(I32({2, 2}, {1, 5, 7, 2}), -1));
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(1, 0));
}

TEST(ArgMax, FlattenKeepdimsAndType) {
  const Tensor x = F32({2, 2, 2}, {0, 1, 2, 9, 4, 5, 6, 7});
  ASSERT_OK_AND_ASSIGN(
      auto r, OpRun("arg_max").In("X", x).Attr("axis", int64_t{0}).Attr("flatten", true).Attr("dtype", DType::kI32).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(r, OpRun("arg_max").In("X", x).Attr("axis", int64_t{1}).Attr("keepdims", true).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(2, 1, 2));
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace ampc::testing
