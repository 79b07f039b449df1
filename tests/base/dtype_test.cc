#include "graph/base/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype_of.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/packed.h"
#include "graph/base/small_float.h"

namespace ampc {
namespace {

DType Nth(int i) { return static_cast<DType>(i); }

TEST(DTypeTest, NamesParseBack) {
  for (int i = 1; i < kNumDTypes; ++i) {
    EXPECT_EQ(ParseDType(Name(Nth(i))), Nth(i)) << i;
    EXPECT_EQ(ParseDType(LongName(Nth(i))), Nth(i)) << i;
  }
  EXPECT_EQ(ParseDType("fp16"), DType::kF16);
  EXPECT_EQ(ParseDType("fp32"), DType::kF32);
  EXPECT_EQ(ParseDType("fp64"), DType::kF64);
  EXPECT_EQ(ParseDType("half"), DType::kF16);
  EXPECT_EQ(ParseDType("double"), DType::kF64);
  for (const char* bad : {"", "invalid", "F32", "f32 ", "f8", "float3"}) EXPECT_EQ(ParseDType(bad), std::nullopt) << bad;
}

TEST(DTypeTest, SizesAndKinds) {
  const size_t sizes[kNumDTypes] = {0, 1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::string floats, integers, low, complex, packed, small;
  for (int i = 0; i < kNumDTypes; ++i) {
    EXPECT_EQ(SizeOf(Nth(i)), sizes[i]) << Name(Nth(i));
    const std::string name = std::string(Name(Nth(i))) + " ";
    if (IsFloat(Nth(i))) floats += name;
    if (IsInteger(Nth(i))) integers += name;
    if (IsLowPrecision(Nth(i))) low += name;
    if (IsComplex(Nth(i))) complex += name;
    if (IsPacked(Nth(i))) packed += absl::StrCat(Name(Nth(i)), ":", BitsOf(Nth(i)), " ");
    if (IsSmallFloat(Nth(i))) small += name;
    EXPECT_EQ(BitsOf(Nth(i)) < 8 * static_cast<int>(sizes[i]), IsPacked(Nth(i))) << name;
  }
  EXPECT_EQ(floats, "f16 bf16 f32 f64 ");
  EXPECT_EQ(integers, "u8 i8 i16 i32 i64 u16 u32 u64 u4 i4 u2 i2 ");
  EXPECT_EQ(low, "f16 bf16 ");
  EXPECT_EQ(complex, "c64 c128 ");
  EXPECT_EQ(packed, "u4:4 i4:4 u2:2 i2:2 f4e2m1:4 ");
  EXPECT_EQ(small, "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 f4e2m1 ");
}

TEST(DTypeTest, OutOfRangeValueIsInvalid) {
  EXPECT_EQ(SizeOf(Nth(200)), 0u);
  EXPECT_EQ(Name(Nth(200)), "invalid");
}

TEST(DTypeSwitch, CoversItsList) {
  std::string accepted;
  for (int i = 0; i < kNumDTypes; ++i) {
    const absl::Status status = SwitchAll(Nth(i), "op", [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      EXPECT_EQ(tag.dtype, Nth(i));
      EXPECT_EQ(sizeof(T), SizeOf(Nth(i)));
      accepted += std::string(Name(kDTypeOf<T>)) + " ";
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok() || ExitCodeOf(status) == ExitCode::kUnsupported);
  }
  EXPECT_EQ(accepted, "bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 u16 u32 u64 ");
}

TEST(DTypeSwitch, RefusalNamesOpDTypeAndList) {
  const absl::Status status = SwitchAll(DType::kC64, "softmax", [](auto) { return absl::OkStatus(); });
  EXPECT_EQ(status.message(), "softmax: dtype c64 is not one of f32, f64, u8, i8, u16, i16, u32, i32, u64, i64, bool, f16, bf16");
}

TEST(DTypeSwitch, SelectGivesNothingForOtherTypes) {
  const auto size = [](DType dtype) {
    return Select<Reals::With<uint16_t>>(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
  };
  EXPECT_EQ(size(DType::kF64), 8u);
  EXPECT_EQ(size(DType::kU16), 2u);
  EXPECT_EQ(size(DType::kI16), 0u);
}

// Written down from the definitions of the types: the largest number, the smallest, and codes around them.
template <typename T>
void ExpectCodes(std::initializer_list<std::pair<float, int>> codes) {
  for (const auto& [value, code] : codes) {
    EXPECT_EQ(T::Rounded(value, false).bits, code) << Name(kDTypeOf<T>) << " " << value;
  }
}

TEST(SmallFloat, RoundsToNearestEven) {
  const float inf = std::numeric_limits<float>::infinity();
  ExpectCodes<Float8E4M3FN>({{0, 0},
                             {-0.0f, 0x80},
                             {1, 0x38},
                             {448, 0x7e},
                             {464, 0x7e},
                             {465, 0x7f},
                             {-inf, 0xff},
                             {0x1p-9f, 1},
                             {0x1p-10f, 0},
                             {0x1.8p-9f, 2},
                             {1.0625f, 0x38},
                             {1.1875f, 0x3a}});
  ExpectCodes<Float8E4M3FNUZ>({{0, 0}, {-0.0f, 0}, {1, 0x40}, {240, 0x7f}, {inf, 0x80}, {-0x1p-12f, 0}});
  ExpectCodes<Float8E5M2>({{1, 0x3c}, {57344, 0x7b}, {61440, 0x7c}, {-inf, 0xfc}, {0x1p-16f, 1}, {0x1p-17f, 0}});
  ExpectCodes<Float8E5M2FNUZ>({{1, 0x40}, {57344, 0x7f}, {inf, 0x80}, {0x1p-17f, 1}});
  ExpectCodes<Float4E2M1>({{0.25f, 0}, {0.75f, 2}, {1, 2}, {5, 6}, {-6, 0xf}, {inf, 7}, {2.5f, 4}});
  EXPECT_EQ(Float8E4M3FN(1e9f).bits, 0x7e);
  EXPECT_EQ(Float8E5M2(inf).bits, 0x7b);
  using Mode = ScaleFloat::Mode;
  EXPECT_EQ(ScaleFloat::Rounded(3, true, Mode::kUp).bits, 129);
  EXPECT_EQ(ScaleFloat::Rounded(3, true, Mode::kDown).bits, 128);
  EXPECT_EQ(ScaleFloat::Rounded(3, true, Mode::kNearest).bits, 129);
  EXPECT_EQ(ScaleFloat::Rounded(2.9f, true, Mode::kNearest).bits, 128);
  EXPECT_EQ(ScaleFloat::Rounded(0, true, Mode::kUp).bits, 0);
  EXPECT_EQ(ScaleFloat::Rounded(0, false, Mode::kUp).bits, 255);
}

template <typename T>
void CheckCodes() {
  for (int i = 0; i < 1 << BitsOf(kDTypeOf<T>); ++i) {
    const float value = static_cast<float>(T::FromBits(static_cast<uint8_t>(i)));
    EXPECT_TRUE(std::isnan(value) || T::Rounded(value, false).bits == i) << Name(kDTypeOf<T>) << " " << i;
  }
}

// Every code is read back from its own value.
TEST(SmallFloat, CodesAndValuesAreOneToOne) {
  const auto each = [&]<typename... T>(Types<T...>) { (CheckCodes<T>(), ...); };
  each(Types<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float4E2M1>{});
}

TEST(Packed, LowBitsComeFirst) {
  const int8_t i4[] = {-8, 7, -1, 0, 3};
  const uint8_t u2[] = {1, 2, 3, 0, 2};
  std::string bytes;
  AppendPacked(DType::kI4, i4, 5, &bytes);
  EXPECT_EQ(bytes, std::string("\x78\x0f\x03", 3));
  int8_t back[5];
  Unpack(DType::kI4, bytes, 5, back);
  EXPECT_TRUE(std::equal(std::begin(i4), std::end(i4), back));
  bytes.clear();
  AppendPacked(DType::kU2, u2, 5, &bytes);
  EXPECT_EQ(bytes, std::string("\x39\x02", 2));
  EXPECT_EQ(PackedBytes(2, 5), 2);
  EXPECT_EQ(PackedBytes(4, 5), 3);
  EXPECT_EQ(PackedBytes(16, 5), 10);
}

TEST(DTypeOf, AccumulatorsAreWide) {
  EXPECT_TRUE((std::is_same_v<Acc<Half>, float>));
  EXPECT_TRUE((std::is_same_v<Acc<BFloat16>, float>));
  EXPECT_TRUE((std::is_same_v<Acc<float>, float>));
  EXPECT_TRUE((std::is_same_v<Acc<int32_t>, int64_t>));
  EXPECT_EQ(kDTypeOf<char*>, DType::kInvalid);
}

}  // namespace
}  // namespace ampc
