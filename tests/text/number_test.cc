#include "graph/text/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"

namespace ampc::text {
namespace {

std::string Text(float v) {
  std::string out;
  AppendFloat(v, &out);
  return out;
}

TEST(Number, FloatsAreShortAndNeverIntegers) {
  EXPECT_EQ(Text(1), "1.0");
  EXPECT_EQ(Text(-0.0f), "-0.0");
  EXPECT_EQ(Text(0.1f), "0.1");
  EXPECT_EQ(Text(1e-5f), "1e-05");
  EXPECT_EQ(Text(16777216), "16777216.0");
  EXPECT_EQ(Text(1e20f), "1e+20");
  EXPECT_EQ(Text(std::numeric_limits<float>::max()), "3.4028235e+38");
  EXPECT_EQ(Text(std::numeric_limits<float>::denorm_min()), "1e-45");
  EXPECT_EQ(Text(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(Text(std::bit_cast<float>(0x7fc00000u)), "nan");
  EXPECT_EQ(Text(std::bit_cast<float>(0xffc00001u)), "nan(0xffc00001)");
}

// A prime step walks through all exponents and signs.
TEST(Number, FloatsReadBackToTheSameBits) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65537) {
    const float v = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (v != v) continue;
    float back = 0;
    ASSERT_TRUE(ParseFloat(Text(v), &back)) << Text(v);
    ASSERT_EQ(std::bit_cast<uint32_t>(back), bits) << Text(v);
  }
}

TEST(Number, EveryHalfAndBfloat16ReadsBackToTheSameBits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto low = static_cast<uint16_t>(bits);
    char bytes[2];
    std::memcpy(bytes, &low, 2);
    for (DType dtype : {DType::kF16, DType::kBF16}) {
      std::string text;
      AppendElement(dtype, bytes, &text);
      if (text.substr(0, 3) == "nan") continue;  // the parser reads the bits
      float wide = 0;
      ASSERT_TRUE(ParseFloat(text, &wide)) << text;
      ASSERT_EQ(dtype == DType::kF16 ? Half(wide).bits : BFloat16(wide).bits, low) << text;
    }
  }
}

TEST(Number, TheTextDecidesTheType) {
  AttrValue v;
  ASSERT_TRUE(ParseNumber("3", &v));
  EXPECT_EQ(v, AttrValue(int32_t{3}));
  ASSERT_TRUE(ParseNumber("-2147483648", &v));
  EXPECT_EQ(v, AttrValue(std::numeric_limits<int32_t>::min()));
  ASSERT_TRUE(ParseNumber("3l", &v));
  EXPECT_EQ(v, AttrValue(int64_t{3}));
  ASSERT_TRUE(ParseNumber("3.0", &v));
  EXPECT_EQ(v, AttrValue(3.0f));
  ASSERT_TRUE(ParseNumber("1e3", &v));
  EXPECT_EQ(v, AttrValue(1000.0f));
  ASSERT_TRUE(ParseNumber("0.1d", &v));
  EXPECT_EQ(v, AttrValue(0.1));
  ASSERT_TRUE(ParseNumber("-infd", &v));
  EXPECT_EQ(v, AttrValue(-std::numeric_limits<double>::infinity()));
}

TEST(Number, RefusesWhatIsNone) {
  AttrValue v;
  for (const char* text : {"", "l", "d", "2147483648", "9223372036854775808l", "1.5l", "1e40", "1e400d", "0x10", "1_000", "1.2.3", "1e",
                           "--1", "nan", "infinity", "1f"}) {
    EXPECT_FALSE(ParseNumber(text, &v)) << text;
  }
}

}  // namespace
}  // namespace ampc::text
