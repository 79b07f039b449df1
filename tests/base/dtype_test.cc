#include "graph/base/dtype.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "graph/base/dtype_of.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"

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
  const size_t sizes[kNumDTypes] = {0, 1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  std::string floats, integers, low, complex;
  for (int i = 0; i < kNumDTypes; ++i) {
    EXPECT_EQ(SizeOf(Nth(i)), sizes[i]) << Name(Nth(i));
    const std::string name = std::string(Name(Nth(i))) + " ";
    if (IsFloat(Nth(i))) floats += name;
    if (IsInteger(Nth(i))) integers += name;
    if (IsLowPrecision(Nth(i))) low += name;
    if (IsComplex(Nth(i))) complex += name;
  }
  EXPECT_EQ(floats, "f16 bf16 f32 f64 ");
  EXPECT_EQ(integers, "u8 i8 i16 i32 i64 ");
  EXPECT_EQ(low, "f16 bf16 ");
  EXPECT_EQ(complex, "c64 c128 ");
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
  EXPECT_EQ(accepted, "bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 ");
}

TEST(DTypeSwitch, RefusalNamesOpDTypeAndList) {
  const absl::Status status = SwitchAll(DType::kC64, "softmax", [](auto) { return absl::OkStatus(); });
  EXPECT_EQ(status.message(), "softmax: dtype c64 is not one of f32, f16, bf16, f64, u8, i8, i16, i32, i64, bool");
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
