#include "graph/base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "graph/base/bfloat16.h"

namespace ampc {
namespace {

// The value of a 16-bit float format with the given field widths, from its definition.
double Decode(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double value;
  if (exponent == (1 << exponent_bits) - 1) {
    value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <typename Low>
class LowFloat : public testing::Test {};

template <typename Low>
constexpr int kExponentBits = 0;
template <>
constexpr int kExponentBits<Half> = 5;
template <>
constexpr int kExponentBits<BFloat16> = 8;
template <typename Low>
constexpr int kMantissaBits = 15 - kExponentBits<Low>;
template <typename Low>
constexpr uint16_t kInfinity = ((1 << kExponentBits<Low>)-1) << kMantissaBits<Low>;

template <typename Low>
double Value(int bits) {
  return Decode(static_cast<uint16_t>(bits), kExponentBits<Low>, kMantissaBits<Low>);
}

using LowFloats = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(LowFloat, LowFloats);

TYPED_TEST(LowFloat, EveryPatternWidensToItsMeaning) {
  for (int bits = 0; bits < 65536; ++bits) {
    const double want = Value<TypeParam>(bits);
    const float got = static_cast<float>(TypeParam::FromBits(static_cast<uint16_t>(bits)));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(got), want) << bits;
    }
    EXPECT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
  }
}

TYPED_TEST(LowFloat, EveryPatternSurvivesTheRoundTrip) {
  constexpr uint16_t kQuiet = 1 << (kMantissaBits<TypeParam> - 1);
  for (int bits = 0; bits < 65536; ++bits) {
    const bool nan = (bits & 0x7fff) > kInfinity<TypeParam>;
    const TypeParam start = TypeParam::FromBits(static_cast<uint16_t>(bits));
    EXPECT_EQ(TypeParam(static_cast<float>(start)).bits, nan ? (bits | kQuiet) : bits) << bits;
  }
}

// Between each two neighbouring values: below the middle rounds down, above rounds up, the middle to the even one.
TYPED_TEST(LowFloat, RoundsToNearestEven) {
  for (int bits = 0; bits < kInfinity<TypeParam>; ++bits) {
    const double low = Value<TypeParam>(bits);
    // Past the largest finite value stands the value that the format would have with one more exponent.
    const double high = bits + 1 == kInfinity<TypeParam> ? 2 * low - Value<TypeParam>(bits - 1) : Value<TypeParam>(bits + 1);
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << bits;
    const int even = bits % 2 == 0 ? bits : bits + 1;
    const float infinity = std::numeric_limits<float>::infinity();
    for (const int sign : {0, 0x8000}) {
      const float s = sign != 0 ? -1.0f : 1.0f;
      EXPECT_EQ(TypeParam(s * middle).bits, sign | even) << bits;
      EXPECT_EQ(TypeParam(s * std::nextafter(middle, 0.0f)).bits, sign | bits) << bits;
      EXPECT_EQ(TypeParam(s * std::nextafter(middle, infinity)).bits, sign | (bits + 1)) << bits;
      EXPECT_EQ(TypeParam(s * std::nextafter(static_cast<float>(low), infinity)).bits, sign | bits) << bits;
    }
  }
}

TYPED_TEST(LowFloat, EveryNaNStaysAQuietNaNOfItsSign) {
  for (uint32_t payload = 1; payload < 0x800000u; payload += 997) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const TypeParam got(std::bit_cast<float>(sign | 0x7f800000u | payload));
      EXPECT_GT(got.bits & 0x7fff, kInfinity<TypeParam> | ((1 << (kMantissaBits<TypeParam> - 1)) - 1)) << payload;
      EXPECT_EQ(got.bits >> 15, sign >> 31) << payload;
    }
  }
}

TYPED_TEST(LowFloat, InfinityAndOverflow) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(TypeParam(infinity).bits, kInfinity<TypeParam>);
  EXPECT_EQ(TypeParam(-infinity).bits, kInfinity<TypeParam> | 0x8000);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::max()).bits, kInfinity<TypeParam>);
  EXPECT_EQ(TypeParam(-0.0f).bits, 0x8000);
}

TEST(HalfTest, KnownValues) {
  EXPECT_EQ(Half(1.0f).bits, 0x3c00);
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(0x1p-24f).bits, 1);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);
  EXPECT_EQ(BFloat16(3.14159265f).bits, 0x4049);
  static_assert(Half(0.5f).bits == 0x3800 && static_cast<float>(BFloat16::FromBits(0x3f80)) == 1.0f);
}

}  // namespace
}  // namespace ampc
