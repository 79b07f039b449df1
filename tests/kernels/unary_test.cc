// Unary maps: every f16 and bf16 value and a spread of f32 values against the C library in double, on every instruction set that this
// CPU has; other types and attributes by example.
#include "kernels/cpu/simd/targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "kernels/round.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char* name;  // unique; the key of its tolerance
  const char* op;
  std::vector<ampc::Attr> attrs;
  std::function<double(double)> exact;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

const std::vector<Function>& Functions() {
  static const auto* const functions = new std::vector<Function>{
      {"relu", "relu", {}, [](double x) { return std::isnan(x) ? x
                                                 : x > 0       ? x
                                                               : 0; }},
      {"relu6", "relu6", {{"threshold", 5.0f}}, [](double x) { return x < 0   ? 0
                                                                      : x > 5 ? 5
                                                                              : x; }},
      {"sigmoid", "sigmoid", {}, Sigmoid},
      {"tanh", "tanh", {}, [](double x) { return std::tanh(x); }},
      {"gelu", "gelu", {}, [](double x) { return x * 0.5 * std::erfc(-x * std::sqrt(0.5)); }},
      {"gelu_tanh",
       "gelu",
       {{"approximate", true}},
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"swish", "swish", {{"beta", 1.5f}}, [](double x) { return x * Sigmoid(1.5 * x); }},
      {"hard_swish", "hard_swish", {}, [](double x) { return x *
                                                             (x <= -3  ? 0
                                                              : x >= 3 ? 6
                                                                       : x + 3) /
                                                             6; }},
      {"hard_sigmoid", "hard_sigmoid", {{"slope", 0.25f}}, [](double x) { return x <= -2  ? 0
                                                                                 : x >= 2 ? 1
                                                                                          : 0.25 * x + 0.5; }},
      {"exp", "exp", {}, [](double x) { return std::exp(x); }},
      {"log", "log", {}, [](double x) { return std::log(x); }},
      {"sqrt", "sqrt", {}, [](double x) { return std::sqrt(x); }},
      {"square", "square", {}, [](double x) { return x * x; }},
      {"abs", "abs", {}, [](double x) { return std::abs(x); }},
      {"clip", "clip", {{"min", -1.5f}, {"max", 2.25f}}, [](double x) { return x < -1.5   ? -1.5
                                                                               : x > 2.25 ? 2.25
                                                                                          : x; }},
      {"pow", "pow", {{"factor", 1.75f}}, [](double x) { return std::pow(x, 1.75); }},
      {"pow_identity", "pow", {{"factor", 1.0f}}, [](double x) { return x; }},
      {"pow_square", "pow", {{"factor", 2.0f}}, [](double x) { return x * x; }},
      {"pow_half", "pow", {{"factor", 0.5f}}, [](double x) { return std::pow(x, 0.5); }},
      {"pow_reciprocal", "pow", {{"factor", -1.0f}}, [](double x) { return 1 / x; }},
      {"sin", "sin", {}, [](double x) { return std::sin(x); }},
      {"cos", "cos", {}, [](double x) { return std::cos(x); }},
      {"tan", "tan", {}, [](double x) { return std::tan(x); }},
      {"asin", "asin", {}, [](double x) { return std::asin(x); }},
      {"acos", "acos", {}, [](double x) { return std::acos(x); }},
      {"atan", "atan", {}, [](double x) { return std::atan(x); }},
      {"sinh", "sinh", {}, [](double x) { return std::sinh(x); }},
      {"cosh", "cosh", {}, [](double x) { return std::cosh(x); }},
      {"asinh", "asinh", {}, [](double x) { return std::asinh(x); }},
      {"acosh", "acosh", {}, [](double x) { return std::acosh(x); }},
      {"atanh", "atanh", {}, [](double x) { return std::atanh(x); }},
      {"expm1", "expm1", {}, [](double x) { return std::expm1(x); }},
      {"log1p", "log1p", {}, [](double x) { return std::log1p(x); }},
      {"log2", "log2", {}, [](double x) { return std::log2(x); }},
      {"log10", "log10", {}, [](double x) { return std::log10(x); }},
      {"floor", "floor", {}, [](double x) { return std::floor(x); }},
      {"ceil", "ceil", {}, [](double x) { return std::ceil(x); }},
      {"trunc", "trunc", {}, [](double x) { return std::trunc(x); }},
      {"round", "round", {}, [](double x) { return std::round(x); }},
      {"erf", "erf", {}, [](double x) { return std::erf(x); }},
      {"sign", "sign", {}, [](double x) { return std::isnan(x) ? x
                                                 : x > 0       ? 1.0
                                                 : x < 0       ? -1.0
                                                               : x; }},
      {"rsqrt", "rsqrt", {}, [](double x) { return 1 / std::sqrt(x); }},
      {"reciprocal", "reciprocal", {}, [](double x) { return 1 / x; }},
      {"silu", "silu", {}, [](double x) { return x * Sigmoid(x); }},
      {"leaky_relu", "leaky_relu", {{"alpha", 0.1f}}, [](double x) { return x < 0 ? static_cast<double>(0.1f) * x : x; }},
      {"elu", "elu", {{"alpha", 0.5f}}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
      {"selu",
       "selu",
       {},
       [](double x) {
         return static_cast<double>(1.0507010221481323f) * (x < 0 ? static_cast<double>(1.6732631921768188f) * std::expm1(x) : x);
       }},
      {"celu", "celu", {{"alpha", 2.0f}}, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }},
      {"softplus", "softplus", {{"beta", 2.0f}, {"threshold", 15.0f}}, [](double x) { return 2 * x > 15 ? x : Softplus(2 * x) / 2; }},
      {"logsigmoid", "logsigmoid", {}, [](double x) { return -Softplus(-x); }},
      {"mish", "mish", {}, [](double x) { return x * std::tanh(Softplus(x)); }},
      {"softsign", "softsign", {}, [](double x) { return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::abs(x)); }},
      {"stanh", "stanh", {}, [](double x) { return static_cast<double>(1.7159f) * std::tanh(static_cast<double>(0.67f) * x); }},
      {"thresholded_relu", "thresholded_relu", {{"threshold", 0.5f}}, [](double x) { return x <= 0.5 ? 0.0 : x; }},
      {"hard_shrink", "hard_shrink", {{"threshold", 0.25f}}, [](double x) { return std::abs(x) <= 0.25 ? 0.0 : x; }},
      {"softshrink",
       "softshrink",
       {{"lambda", 0.25f}},
       [](double x) {
         return x > 0.25 ? x - 0.25 : x < -0.25 ? x + 0.25 : std::isnan(x) ? x : 0.0;
       }},
      {"tanh_shrink", "tanh_shrink", {}, [](double x) { return x - std::tanh(x); }},
      {"brelu", "brelu", {{"t_min", -1.0f}, {"t_max", 6.0f}}, [](double x) { return x < -1  ? -1.0
                                                                                    : x > 6 ? 6.0
                                                                                            : x; }},
      {"scale_power_of_two", "scale", {{"scale", 0.25f}}, [](double x) { return 0.25 * x + 0.0; }},
  };
  return *functions;
}

// Every bit pattern of the type, as floats.
std::vector<float> AllValues(DType dtype) {
  std::vector<float> values(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    values[bits] = dtype == DType::kF16 ? Half::ToFloat(static_cast<uint16_t>(bits)) : std::bit_cast<float>(bits << 16);
  }
  return values;
}

float Rounded(DType dtype, double value) {
  float v = static_cast<float>(value);
  RoundTo(dtype, &v, 1);
  return v;
}

OpRun RunOf(const Function& f, const Tensor& x) {
  OpRun run(f.op);
  run.In("X", x).Out("Out");
  for (const ampc::Attr& a : f.attrs) run.Attr(a.name, a.value);
  return run;
}

class UnaryFunction : public ::testing::TestWithParam<int> {
 protected:
  const Function& f() const { return Functions()[GetParam()]; }

  // Runs `check` once per instruction set.
  template <typename Check>
  void OnEveryTarget(Check check) {
    for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
      hwy::GetChosenTarget().Update(rest & -rest);
      SCOPED_TRACE(hwy::TargetName(rest & -rest));
      check();
    }
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_P(UnaryFunction, IsRightForEveryValueOf16Bits) {
  const FunctionTolerance t = FunctionToleranceFor(f().name);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::vector<float> x = AllValues(dtype);
    OnEveryTarget([&] {
      ASSERT_OK_AND_ASSIGN(const auto r, RunOf(f(), Low(dtype, {65536}, x)).Run());
      const auto found = r[0].stored.values<float>();
      int wrong = 0;
      for (int i = 0; i < 65536; ++i) {
        const double exact = f().exact(x[i]);
        const double slack = t.ulps <= 0.5 ? 0 : t.ulps * std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23) + t.abs;
        // A number that a value within the float32 tolerance rounds to; for correctly rounded functions exactly the rounded value.
        const float low = Rounded(dtype, exact - slack), high = Rounded(dtype, exact + slack);
        const bool good =
            std::isnan(exact) ? std::isnan(found[i]) : (found[i] >= low && found[i] <= high) || found[i] == Rounded(dtype, exact);
        if (!good && ++wrong < 5) ADD_FAILURE() << f().name << "(" << x[i] << ") = " << found[i] << ", needs " << exact;
        if (exact == 0 && good && ++wrong < 5 && std::signbit(exact) != std::signbit(found[i])) ADD_FAILURE() << "sign of zero at " << x[i];
        if (exact == 0 && good) --wrong;
      }
      EXPECT_EQ(wrong, 0);
    });
  }
}

TEST_P(UnaryFunction, IsRightForFloats) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 40503) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 7.3e-4f);
  for (float v : {0.0f, -0.0f, kInf, -kInf, kNaN, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(), 1e-45f, -1e-45f,
                  std::numeric_limits<float>::min(), 88.72f, 88.73f, -87.34f, -103.9f, -104.0f, 1.0f, -1.0f}) {
    x.push_back(v);
  }
  OnEveryTarget([&] {
    ASSERT_OK_AND_ASSIGN(const auto r, RunOf(f(), F32({static_cast<int64_t>(x.size())}, x)).Run());
    const auto found = r[0].stored.values<float>();
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = f().exact(x[i]);
      if (WithinUlps(found[i], exact, FunctionToleranceFor(f().name))) continue;
      if (++wrong < 5) ADD_FAILURE() << f().name << "(" << x[i] << ") = " << found[i] << ", needs " << exact;
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(UnaryFunction, ComputesInDouble) {
  const std::vector<double> x = {-3.7, -1, -0.3, 0.001, 0.7, 1, 2.2, 4.9};
  ASSERT_OK_AND_ASSIGN(const auto r, RunOf(f(), Of<double>({8}, x)).Run());
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(Near(r[0].doubles()[i], f().exact(x[i]), ToleranceFor(DType::kF64))) << f().name << "(" << x[i] << ")";
}

// An element's value does not depend on its place: neither on the length nor on what stands beside it.
TEST_P(UnaryFunction, DoesNotDependOnPosition) {
  const std::vector<float> x = Random({67}, 3, -6, 6).floats();
  ASSERT_OK_AND_ASSIGN(const auto all, RunOf(f(), F32({67}, x)).Run());
  for (int64_t n : {0, 1, 3, 17}) {
    const std::vector<float> part(x.end() - n, x.end());
    ASSERT_OK_AND_ASSIGN(const auto r, RunOf(f(), F32({n}, part)).Run());
    for (int64_t i = 0; i < n; ++i) EXPECT_TRUE(Near(r[0].floats()[i], all[0].floats()[67 - n + i], {0, 0})) << f().name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, UnaryFunction, ::testing::Range(0, static_cast<int>(Functions().size())),
                         [](const auto& info) { return std::string(Functions()[info.param].name); });

TEST(Unary, IntegersOfOpsThatHaveThem) {
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("relu").In("X", I32({3}, {-4, 0, 7})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(0, 0, 7));
  ASSERT_OK_AND_ASSIGN(r, OpRun("abs").In("X", I64({2}, {-4, 7})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(4, 7));
  ASSERT_OK_AND_ASSIGN(r, OpRun("square").In("X", I32({2}, {-4, 65536})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(16, 0));
  ASSERT_OK_AND_ASSIGN(r, OpRun("sign").In("X", I64({3}, {-4, 0, 7})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(-1, 0, 1));
  ASSERT_OK_AND_ASSIGN(r, OpRun("trunc").In("X", I64({1}, {(int64_t{1} << 62) + 1})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre((int64_t{1} << 62) + 1));
  EXPECT_THAT(OpRun("tanh").In("X", I32({1}, {1})).Out("Out").Run(), StatusIs(ExitCode::kUnsupported, HasSubstr("no cpu kernel for i32")));
}

TEST(Clip, BoundsMayBeTensorsKnownOrNot) {
  const Tensor x = F32({4}, {-5, 0, 5, kNaN});
  for (bool constant : {false, true}) {
    OpRun run("clip");
    run.In("X", x).Attr("min", 0.0f).Attr("max", 1.0f).Out("Out");
    if (constant) {
      run.Const("Min", F32({1}, {-2})).Const("Max", F32({1}, {3}));
    } else {
      run.In("Min", F32({1}, {-2})).In("Max", F32({1}, {3}));
    }
    ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
    EXPECT_EQ(r[0].floats()[0], -2);
    EXPECT_EQ(r[0].floats()[2], 3);
    EXPECT_TRUE(std::isnan(r[0].floats()[3]));
  }
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("clip").In("X", I64({3}, {-5, 2, 90})).Attr("min", 0.0f).Attr("max", 10.5f).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(0, 2, 10));
}

TEST(Pow, ExponentMayBeATensorAndIntegersStayIntegers) {
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("pow").In("X", F32({2}, {3, -2})).In("FactorTensor", F32({1}, {3})).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(27, -8));
  ASSERT_OK_AND_ASSIGN(r, OpRun("pow").In("X", I32({2}, {3, -2})).Attr("factor", 3.0f).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(27, -8));
}

TEST(Scale, BiasBeforeOrAfterTensorAndIntegers) {
  const Tensor x = F32({2}, {1, -2});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("scale").In("X", x).Attr("scale", 2.0f).Attr("bias", 3.0f).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(5, -1));
  ASSERT_OK_AND_ASSIGN(r,
                       OpRun("scale").In("X", x).Attr("scale", 2.0f).Attr("bias", 3.0f).Attr("bias_after_scale", false).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(8, 2));
  ASSERT_OK_AND_ASSIGN(r, OpRun("scale").In("X", x).In("ScaleTensor", F32({1}, {-4})).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(-4, 8));
  ASSERT_OK_AND_ASSIGN(r, OpRun("scale").In("X", I64({2}, {1, int64_t{1} << 60})).Attr("scale", 2.7f).Attr("bias", 1.0f).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(3, (int64_t{1} << 61) + 1));
}

}  // namespace
}  // namespace ampc::testing
