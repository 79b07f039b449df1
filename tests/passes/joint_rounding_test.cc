// Rounding the numbers of a channel of batch normalisation together.
#include "passes/amp/cast/joint_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "gtest/gtest.h"

namespace ampc {
namespace {

constexpr float kEpsilon = 1e-5f;

float Rounded(float value, DType low) { return low == DType::kF16 ? static_cast<float>(Half(value)) : static_cast<float>(BFloat16(value)); }

NormChannel Alone(const NormChannel& c, DType low = DType::kF16) {
  return {Rounded(c.scale, low), Rounded(c.bias, low), Rounded(c.mean, low), Rounded(c.variance, low)};
}

NormChannel Jointly(const NormChannel& c, DType low = DType::kF16) { return RoundJointly(c, Alone(c, low), {}, kEpsilon, low); }

double Slope(const NormChannel& c) { return c.scale / std::sqrt(static_cast<double>(c.variance) + kEpsilon); }
double Offset(const NormChannel& c) { return c.bias - c.mean * Slope(c); }

double Ulp(double value, DType low) { return std::ldexp(1.0, std::ilogb(value) - (low == DType::kF16 ? 10 : 7)); }

// Scales and variances as a trained network has them, biases and means of any ratio.
NormChannel RandomChannel(std::mt19937& random) {
  std::uniform_real_distribution<float> size(-4, 3), around(0.3f, 2);
  std::normal_distribution<float> sign;
  return {std::copysign(around(random), sign(random)), std::copysign(std::exp2(size(random)), sign(random)),
          std::copysign(std::exp2(size(random)), sign(random)), std::exp2(size(random))};
}

class JointRounding : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Low, JointRounding, ::testing::Values(DType::kF16, DType::kBF16),
                         [](const ::testing::TestParamInfo<DType>& info) { return std::string(Name(info.param)); });

TEST_P(JointRounding, ErrsAnEighthOfWhatSimpleRoundingDoesOrLess) {
  const DType low = GetParam();
  std::mt19937 random(1);
  double slope[2] = {}, offset[2] = {};
  for (int i = 0; i < 4000; ++i) {
    const NormChannel exact = RandomChannel(random), both[2] = {Alone(exact, low), Jointly(exact, low)};
    for (int k : {0, 1}) {
      slope[k] += std::fabs(Slope(both[k]) / Slope(exact) - 1);
      offset[k] += std::fabs(Offset(both[k]) - Offset(exact));
    }
    EXPECT_LE(std::fabs(Slope(both[1]) - Slope(exact)), std::fabs(Slope(both[0]) - Slope(exact))) << i;
  }
  EXPECT_GT(slope[0], 8 * slope[1]);
  EXPECT_GT(offset[0], 8 * offset[1]);
}

TEST_P(JointRounding, StaysWithinItsUnits) {
  const DType low = GetParam();
  std::mt19937 random(2);
  for (int i = 0; i < 4000; ++i) {
    const NormChannel exact = RandomChannel(random), c = Jointly(exact, low);
    EXPECT_EQ(c, Alone(c, low)) << i;  // numbers of the type
    EXPECT_GT(c.variance, 0) << i;
    const double most = kMostUnits + 1;  // units of both sides of a power of two
    EXPECT_LE(std::fabs(c.scale - exact.scale), most * Ulp(std::max(std::fabs(c.scale), std::fabs(exact.scale)), low)) << i;
    EXPECT_LE(std::fabs(c.variance - exact.variance), most * Ulp(std::max(c.variance, exact.variance), low)) << i;
    const double a = std::fabs(Slope(exact));
    const double unit = Ulp(std::max<double>(std::fabs(exact.bias), std::fabs(exact.mean) * a), low);
    EXPECT_LE(std::fabs(c.bias - exact.bias), most * unit) << i;
    EXPECT_LE(std::fabs(c.mean - exact.mean) * a, most * unit) << i;
  }
}

TEST_P(JointRounding, OfWhatItGaveChangesNothing) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const NormChannel once = Jointly(RandomChannel(random), GetParam());
    EXPECT_EQ(Jointly(once, GetParam()), once) << i;
  }
}

// Nothing to gain, or no way to say what is near.
TEST(JointRoundingEdges, LeavesAlone) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const NormChannel& exact : {NormChannel{1, 0, 0, 1}, NormChannel{0, 0.1f, 0, 0.3f}, NormChannel{infinity, 0.1f, 0.1f, 0.3f},
                                   NormChannel{0.7f, 0.1f, infinity, 0.3f}, NormChannel{0.7f, 0.1f, 0.1f, -1},
                                   NormChannel{0.7f, 0.1f, 0.1f, 1e-9f}, NormChannel{0.7f, 1e-9f, 0.1f, 0.3f}}) {
    const NormChannel alone = Alone(exact), c = Jointly(exact);
    EXPECT_EQ(c, alone) << exact.scale << " " << exact.bias << " " << exact.mean << " " << exact.variance;
  }
  const NormChannel c = Jointly({0.7f, std::numeric_limits<float>::quiet_NaN(), 0.1f, 0.3f});
  EXPECT_EQ(c.scale, Rounded(0.7f, DType::kF16));
  EXPECT_TRUE(std::isnan(c.bias));
}

TEST(JointRoundingEdges, ClampedNumbersAreLeftAlone) {
  const NormChannel exact = {0.7f, 0.1f, 1e5f, 0.3f};
  NormChannel alone = Alone(exact);
  alone.mean = 65504;
  EXPECT_EQ(RoundJointly(exact, alone, {}, kEpsilon, DType::kF16), alone);
}

TEST(JointRoundingEdges, VarianceOfZeroKeepsItsScale) {
  const NormChannel exact = {0.7f, 0.1f, 0.3f, 0}, alone = Alone(exact), c = Jointly(exact);
  EXPECT_EQ(c.variance, 0);
  EXPECT_EQ(c.scale, alone.scale);
  EXPECT_LE(std::fabs(Offset(c) - Offset(exact)), std::fabs(Offset(alone) - Offset(exact)));
}

TEST(JointRoundingEdges, NegativeScaleIsTheMirrorImage) {
  const NormChannel c = Jointly({0.7f, 0.1f, 0.3f, 0.9f});
  EXPECT_EQ(Jointly({-0.7f, -0.1f, 0.3f, 0.9f}), (NormChannel{-c.scale, -c.bias, c.mean, c.variance}));
}

TEST(JointRoundingEdges, BiasOfZeroTakesWhatMeanLoses) {
  const NormChannel exact = {0.7f, 0, 0.3f, 0.9f}, alone = Alone(exact), c = Jointly(exact);
  EXPECT_LT(std::fabs(Offset(c) - Offset(exact)), std::fabs(Offset(alone) - Offset(exact)) / 8);
}

TEST(JointRoundingEdges, HugeMeans) {
  for (const float mean : {60000.0f, -60000.0f, 65500.0f}) {
    const NormChannel exact = {0.7f, 0.1f, mean, 0.3f}, alone = Alone(exact), c = Jointly(exact);
    EXPECT_LE(std::fabs(c.mean), 65504) << mean;
    EXPECT_LE(std::fabs(Offset(c) - Offset(exact)), std::fabs(Offset(alone) - Offset(exact))) << mean;
  }
}

TEST(JointRoundingEdges, SubnormalNumbersStay) {
  const NormChannel exact = {0.7f, 3e-5f, 2e-5f, 3e-5f}, alone = Alone(exact), c = Jointly(exact);
  EXPECT_EQ(c.variance, alone.variance);
  EXPECT_EQ(c.scale, alone.scale);
  for (const float number : {c.bias, c.mean})
    EXPECT_TRUE(number == alone.bias || number == alone.mean || std::fabs(number) >= 0x1p-14f) << number;
}

// As operator set 14 has it: mean and variance keep their values.
TEST(JointRoundingEdges, WhatIsNotLoweredKeepsItsValue) {
  std::mt19937 random(4);
  double simple = 0, joint = 0;
  for (int i = 0; i < 1000; ++i) {
    const NormChannel exact = RandomChannel(random);
    NormChannel alone = Alone(exact);
    alone.mean = exact.mean;
    alone.variance = exact.variance;
    const NormChannel c = RoundJointly(exact, alone, {.mean = false, .variance = false}, kEpsilon, DType::kF16);
    EXPECT_EQ(c.mean, exact.mean);
    EXPECT_EQ(c.variance, exact.variance);
    EXPECT_EQ(c.scale, alone.scale);
    simple += std::fabs(Offset(alone) - Offset(exact));
    joint += std::fabs(Offset(c) - Offset(exact));
  }
  EXPECT_LT(joint, simple);
}

}  // namespace
}  // namespace ampc
