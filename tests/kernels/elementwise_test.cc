// elementwise_*: against a plain loop over the result, for every kind of broadcasting, type and special value.
#include <cmath>
#include <limits>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double Compute(const std::string& op, double x, double y) {
  if (op == "elementwise_add") return x + y;
  if (op == "elementwise_sub") return x - y;
  if (op == "elementwise_mul") return x * y;
  if (op == "elementwise_div") return x / y;
  if (op == "elementwise_pow") return std::pow(x, y);
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  return op == "elementwise_max" ? std::max(x, y) : std::min(x, y);
}

// Position in a tensor of shape `dims`, whose first dimension stands at `axis` of the result, of the result's element `i`.
int64_t Position(int64_t i, const Shape& out, const Shape& dims, int64_t axis) {
  int64_t position = 0, size = 1;
  for (int64_t d = static_cast<int64_t>(out.size()) - 1; d >= 0; --d) {
    const int64_t at = i % out[d];
    i /= out[d];
    const int64_t own = d - axis;
    if (own < 0 || own >= static_cast<int64_t>(dims.size())) continue;
    if (dims[own] != 1) position += at * size;
    size *= dims[own];
  }
  return position;
}

struct BroadcastCase {
  Shape x, y, out;
  int axis;
};

class Broadcast : public ::testing::TestWithParam<BroadcastCase> {};

TEST_P(Broadcast, AgreesWithLoop) {
  const auto& [xs, ys, out, axis] = GetParam();
  const Tensor x = Random(xs, 1), y = Random(ys, 2, 0.5, 3);
  const std::vector<float> xv = x.floats(), yv = y.floats();
  const int64_t low = axis >= 0 ? axis : static_cast<int64_t>(out.size() - std::min(xs.size(), ys.size()));
  const int64_t x_axis = xs.size() < ys.size() ? low : 0, y_axis = xs.size() < ys.size() ? 0 : low;
  for (const char* op :
       {"elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div", "elementwise_max", "elementwise_min"}) {
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun(op).In("X", x).In("Y", y).Attr("axis", axis).Out("Out").Run());
    ASSERT_EQ(Shape(r[0].dims().begin(), r[0].dims().end()), out);
    for (int64_t i = 0; i < r[0].stored.num_elements(); ++i) {
      const float a = xv[Position(i, out, xs, x_axis)], b = yv[Position(i, out, ys, y_axis)];
      ASSERT_EQ(r[0].stored.values<float>()[i], static_cast<float>(Compute(op, a, b))) << op << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Broadcast,
                         ::testing::Values(BroadcastCase{{5}, {5}, {5}, -1},                                               //
                                           BroadcastCase{{}, {}, {}, -1},                                                  //
                                           BroadcastCase{{0, 3}, {3}, {0, 3}, -1},                                         //
                                           BroadcastCase{{1}, {1}, {1}, -1},                                               //
                                           BroadcastCase{{3, 37}, {1}, {3, 37}, -1},                                       //
                                           BroadcastCase{{1}, {3, 37}, {3, 37}, -1},                                       //
                                           BroadcastCase{{3, 37}, {37}, {3, 37}, -1},                                      //
                                           BroadcastCase{{37}, {3, 37}, {3, 37}, -1},                                      //
                                           BroadcastCase{{3, 37}, {3, 1}, {3, 37}, -1},                                    //
                                           BroadcastCase{{3, 1}, {1, 37}, {3, 37}, -1},                                    //
                                           BroadcastCase{{2, 3, 4, 5}, {3}, {2, 3, 4, 5}, 1},                              //
                                           BroadcastCase{{2, 3, 4, 5}, {3, 4}, {2, 3, 4, 5}, 1},                           //
                                           BroadcastCase{{2, 3, 4, 5}, {3, 1, 1}, {2, 3, 4, 5}, 1},                        //
                                           BroadcastCase{{2, 3, 4, 5}, {2, 3, 1, 1}, {2, 3, 4, 5}, -1},                    //
                                           BroadcastCase{{2, 3, 4, 5}, {2}, {2, 3, 4, 5}, 0},                              //
                                           BroadcastCase{{3}, {2, 3, 4, 5}, {2, 3, 4, 5}, 1},                              //
                                           BroadcastCase{{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}, -1},                       //
                                           BroadcastCase{{2, 1, 3, 1, 2, 1}, {2, 5, 1, 4, 1, 3}, {2, 5, 3, 4, 2, 3}, -1},  //
                                           BroadcastCase{{9, 17, 33, 41}, {9, 17, 33, 41}, {9, 17, 33, 41}, -1},           //
                                           BroadcastCase{{9, 17, 33, 41}, {17}, {9, 17, 33, 41}, 1}));

TEST(Elementwise, NaNWinsOverMaxAndMinOnBothSides) {
  const Tensor x = F32({6}, {kNaN, 1, -kInf, kInf, kNaN, 0});
  const Tensor y = F32({6}, {1, kNaN, 1, 1, kNaN, 2});
  for (const char* op : {"elementwise_max", "elementwise_min"}) {
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun(op).In("X", x).In("Y", y).Out("Out").Run());
    for (int i = 0; i < 6; ++i) {
      EXPECT_TRUE(Near(r[0].floats()[i], Compute(op, x.floats()[i], y.floats()[i]), {0, 0})) << op << i;
    }
  }
}

TEST(Elementwise, SpecialValuesFollowIeee) {
  ASSERT_OK_AND_ASSIGN(const auto d, OpRun("elementwise_div").In("X", F32({3}, {1, -1, 0})).In("Y", F32({1}, {0})).Out("Out").Run());
  EXPECT_EQ(d[0].floats()[0], kInf);
  EXPECT_EQ(d[0].floats()[1], -kInf);
  EXPECT_TRUE(std::isnan(d[0].floats()[2]));
  ASSERT_OK_AND_ASSIGN(const auto s,
                       OpRun("elementwise_sub").In("X", F32({2}, {kInf, 3})).In("Y", F32({2}, {kInf, kInf})).Out("Out").Run());
  EXPECT_TRUE(std::isnan(s[0].floats()[0]));
  EXPECT_EQ(s[0].floats()[1], -kInf);
}

TEST(Elementwise, PowerFollowsTheCLibrary) {
  const std::vector<float> base = {0, -0.0f, 1, -1, 2, -2, 0.5, kInf, -kInf, kNaN, 1e30f, 1e-30f};
  const std::vector<float> exponent = {0, 1, -1, 2, 3, 0.5, -0.5, kInf, -kInf, kNaN, 7.25};
  for (float e : exponent) {
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun("elementwise_pow").In("X", F32({12}, base)).In("Y", F32({1}, {e})).Out("Out").Run());
    for (int i = 0; i < 12; ++i) {
      EXPECT_TRUE(Near(r[0].floats()[i], static_cast<float>(std::pow(static_cast<double>(base[i]), e)), {2e-7, 0})) << base[i] << "^" << e;
    }
  }
}

TEST(Elementwise, LowPrecisionComputesInF32AndRoundsOnce) {
  for (DType t : {DType::kF16, DType::kBF16}) {
    const Tensor x = Low(t, {500}, Random({500}, 7, -300, 300).floats()), y = Low(t, {500}, Random({500}, 8, -300, 300).floats());
    for (const char* op : {"elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div"}) {
      ASSERT_OK_AND_ASSIGN(const auto r, OpRun(op).In("X", x).In("Y", y).Out("Out").Run());
      ASSERT_EQ(r[0].dtype, t);
      for (int i = 0; i < 500; ++i) {
        const Tensor want = Low(t, {1}, {static_cast<float>(Compute(op, x.floats()[i], y.floats()[i]))});
        ASSERT_TRUE(Near(r[0].floats()[i], want.floats()[0], {0, 0})) << op << " of " << x.floats()[i] << " and " << y.floats()[i];
      }
    }
  }
}

template <typename T>
void ExpectIntegers(const std::string& op, std::vector<T> x, std::vector<T> y, std::vector<T> want) {
  const Shape dims = {static_cast<int64_t>(x.size())};
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun(op).In("X", Of<T>(dims, x)).In("Y", Of<T>(dims, y)).Out("Out").Run());
  EXPECT_EQ(r[0].template As<T>(), want) << op;
}

TEST(Elementwise, IntegersWrapAndDivideTowardZero) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();
  ExpectIntegers<int32_t>("elementwise_add", {1, kMax}, {2, 1}, {3, kMin});
  ExpectIntegers<int32_t>("elementwise_mul", {-3, kMax}, {5, 2}, {-15, -2});
  ExpectIntegers<int32_t>("elementwise_div", {7, -7, 7, kMin}, {2, 2, -2, -1}, {3, -3, -3, kMin});
  ExpectIntegers<int32_t>("elementwise_pow", {2, 3, -2, 10, 2}, {10, 3, 3, 0, 40}, {1024, 27, -8, 1, 0});
  ExpectIntegers<int64_t>("elementwise_sub", {1, std::numeric_limits<int64_t>::min()}, {2, 1}, {-1, std::numeric_limits<int64_t>::max()});
  ExpectIntegers<int64_t>("elementwise_max", {1, -5}, {2, -6}, {2, -5});
  ExpectIntegers<uint8_t>("elementwise_add", {200, 3}, {100, 4}, {44, 7});
  ExpectIntegers<int8_t>("elementwise_mul", {100, -3}, {2, 4}, {-56, -12});
  ExpectIntegers<int16_t>("elementwise_min", {-7, 3}, {2, -4}, {-7, -4});
}

TEST(Elementwise, IntegerDivisionByZeroIsAnError) {
  EXPECT_THAT(OpRun("elementwise_div").In("X", I32({2}, {1, 2})).In("Y", I32({2}, {1, 0})).Out("Out").Run(),
              StatusIs(ExitCode::kUsage, HasSubstr("divided by zero")));
}

TEST(Elementwise, DoubleKeepsItsPrecision) {
  ASSERT_OK_AND_ASSIGN(const auto r,
                       OpRun("elementwise_add").In("X", Of<double>({1}, {1})).In("Y", Of<double>({1}, {1e-15})).Out("Out").Run());
  EXPECT_EQ(r[0].doubles()[0], 1 + 1e-15);
}

TEST(Elementwise, BoolIsRefusedWithTheTypesThatWork) {
  EXPECT_THAT(OpRun("elementwise_add").In("X", Of({1}, std::vector<bool>{true})).In("Y", Of({1}, std::vector<bool>{true})).Out("Out").Run(),
              StatusIs(ExitCode::kUnsupported, HasSubstr("no bool, only f32, f16, bf16, f64")));
}

TEST(Elementwise, OffersAnOperandOfTheSameSizeAsMemory) {
  ASSERT_OK_AND_ASSIGN(const auto k, OpRun("elementwise_add").In("X", Random({1}, 1)).In("Y", Random({8}, 2)).Out("Out").Make());
  EXPECT_EQ(k->in_place_input(), 1);
  EXPECT_THAT(k->implementation(), HasSubstr("ampc:"));
}

}  // namespace
}  // namespace ampc::testing
