#include "graph/weight.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::testing::HasSubstr;

template <typename T>
WeightRef Ref(const std::vector<T>& values, DType dtype, std::vector<WeightTransform> transforms = {}) {
  WeightRef ref;
  // One byte in front: data in files has no alignment.
  ref.source = WeightBuffer("x" + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  ref.offset = 1;
  ref.bytes = values.size() * sizeof(T);
  ref.dtype = dtype;
  ref.transforms = std::move(transforms);
  return ref;
}

template <typename T>
std::vector<T> Apply(const WeightRef& ref, WeightDamage* damage = nullptr) {
  std::string bytes;
  EXPECT_OK(TransformWindow(ref, 0, static_cast<int64_t>(ref.bytes / SizeOf(ref.dtype)), &bytes, damage));
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Every float32 pattern of a coarse grid through all magnitudes and its neighbours, both signs.
std::vector<float> Grid() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65521) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const uint32_t edge : {0x477fe000u, 0x477ff000u, 0x33000000u, 0x33800000u, 0x387fc000u, 0x387fe000u, 0x38800000u, 0x7f7f0000u,
                              0x7f7f8000u, 0x00008000u, 0x00010000u, 0x007f8000u, 0x00800000u, 0x7f800000u}) {
    for (uint32_t d = 0; d < 3; ++d) {
      values.push_back(std::bit_cast<float>(edge + d - 1));
      values.push_back(-values.back());
    }
  }
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

template <typename Low>
class LowTest : public ::testing::Test {};
using LowTypes = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(LowTest, LowTypes);

template <typename Low>
constexpr DType kLow = std::is_same_v<Low, Half> ? DType::kF16 : DType::kBF16;

// The reference: element by element, from the scalar conversions.
template <typename Low>
struct Expected {
  std::vector<uint16_t> bits;
  WeightDamage damage;

  Expected(const std::vector<float>& values, OnOverflow overflow, OnTiny tiny) {
    const float max = static_cast<float>(Low::FromBits(std::is_same_v<Low, Half> ? 0x7bff : 0x7f7f));
    const float min_normal = static_cast<float>(Low::FromBits(std::is_same_v<Low, Half> ? 0x0400 : 0x0080));
    for (const float v : values) {
      Low low(v);
      if (!std::isfinite(v)) {
        ++damage.non_finite;
      } else {
        damage.max_abs = std::max(damage.max_abs, std::fabs(static_cast<double>(v)));
        const float back = static_cast<float>(low);
        const bool is_tiny = v != 0 && std::fabs(back) < min_normal;
        if (std::isinf(back)) {
          ++damage.clamped;
          if (overflow == OnOverflow::kClamp) low = Low(std::copysign(max, v));
        } else if (is_tiny && tiny == OnTiny::kFlush) {
          low = Low(std::copysign(0.0f, v));
          ++damage.flushed;
        } else if (is_tiny && tiny == OnTiny::kKeep) {
          if (back == 0) low = Low::FromBits(std::signbit(v) ? 0x8001 : 0x0001);
          ++damage.subnormal;
        } else if (is_tiny) {
          ++(back == 0 ? damage.flushed : damage.subnormal);
        }
      }
      bits.push_back(low.bits);
    }
    damage.elements = static_cast<int64_t>(values.size());
  }
};

TYPED_TEST(LowTest, EveryPolicyMatchesTheScalarDefinition) {
  const std::vector<float> values = Grid();
  for (const OnOverflow overflow : {OnOverflow::kClamp, OnOverflow::kKeep}) {
    for (const OnTiny tiny : {OnTiny::kSubnormal, OnTiny::kFlush, OnTiny::kKeep}) {
      const Expected<TypeParam> expected(values, overflow, tiny);
      WeightDamage damage;
      EXPECT_EQ(Apply<uint16_t>(Ref(values, DType::kF32, {{kLow<TypeParam>, overflow, tiny}}), &damage), expected.bits);
      EXPECT_EQ(damage.elements, expected.damage.elements);
      EXPECT_EQ(damage.clamped, expected.damage.clamped);
      EXPECT_EQ(damage.flushed, expected.damage.flushed);
      EXPECT_EQ(damage.subnormal, expected.damage.subnormal);
      EXPECT_EQ(damage.non_finite, expected.damage.non_finite);
      EXPECT_EQ(damage.max_abs, expected.damage.max_abs);
    }
  }
}

TEST(Transform, WindowsJoinToTheWhole) {
  const std::vector<float> values = Grid();
  const WeightRef ref = Ref(values, DType::kF32, {{DType::kF16}});
  std::string whole, pieces;
  WeightDamage once, sum;
  ASSERT_OK(TransformWindow(ref, 0, values.size(), &whole, &once));
  for (size_t first = 0; first < values.size(); first += 1000) {
    ASSERT_OK(TransformWindow(ref, first, std::min<size_t>(1000, values.size() - first), &pieces, &sum));
  }
  EXPECT_EQ(whole, pieces);
  EXPECT_EQ(once.flushed, sum.flushed);
  EXPECT_EQ(once.max_abs, sum.max_abs);
}

TEST(Transform, ErrorOnOverflowNamesTheElement) {
  std::vector<float> values(20000, 1.0f);
  values[17001] = -65520.0f;
  const WeightRef ref = Ref(values, DType::kF32, {{DType::kF16, OnOverflow::kError, OnTiny::kSubnormal}});
  std::string out;
  EXPECT_THAT(
      TransformWindow(ref, 10, 19000, &out, nullptr),
      StatusIs(
          ExitCode::kBadInput,
          HasSubstr("1 of 20000 values is beyond the range of f16, the largest magnitude is 65520, the first is element 17001, -65520")));
  EXPECT_OK(TransformWindow(ref, 0, 17001, &out, nullptr));
}

// The whole weight is counted, whatever window met the first value; infinities of the original are no overflow.
TEST(Transform, ErrorOnOverflowCountsTheWholeWeight) {
  std::vector<float> values(40000, 1.0f);
  values[3] = std::numeric_limits<float>::infinity();
  values[20000] = 7e4f;
  values[20001] = -3e38f;
  values[39999] = 1e6f;
  std::string out;
  const WeightRef half = Ref(values, DType::kF32, {{DType::kF16, OnOverflow::kError, OnTiny::kSubnormal}});
  EXPECT_THAT(
      TransformWindow(half, 0, 30000, &out, nullptr),
      StatusIs(
          ExitCode::kBadInput,
          HasSubstr("3 of 40000 values are beyond the range of f16, the largest magnitude is 3e+38, the first is element 20000, 70000")));
  values[0] = std::numeric_limits<float>::max();
  const WeightRef bfloat = Ref(values, DType::kF32, {{DType::kBF16, OnOverflow::kError, OnTiny::kSubnormal}});
  EXPECT_THAT(TransformWindow(bfloat, 0, 10, &out, nullptr),
              StatusIs(ExitCode::kBadInput, HasSubstr("1 of 40000 values is beyond the range of bf16")));
}

// Bits in, bits out, for every policy: signs survive, NaN stays NaN, infinities of the original stay what they are.
struct Bits {
  const char* what;
  uint32_t from;
  uint16_t clamp, keep;              // on_overflow, with on_tiny=subnormal
  uint16_t flush, subnormal, never;  // on_tiny flush, subnormal, keep, with on_overflow=clamp
};

void ExpectBits(DType to, const std::vector<Bits>& table) {
  std::vector<float> values;
  for (const Bits& row : table) values.push_back(std::bit_cast<float>(row.from));
  const auto apply = [&](OnOverflow overflow, OnTiny tiny) { return Apply<uint16_t>(Ref(values, DType::kF32, {{to, overflow, tiny}})); };
  const auto clamp = apply(OnOverflow::kClamp, OnTiny::kSubnormal), keep = apply(OnOverflow::kKeep, OnTiny::kSubnormal);
  const auto flush = apply(OnOverflow::kClamp, OnTiny::kFlush), never = apply(OnOverflow::kClamp, OnTiny::kKeep);
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(clamp[i], table[i].clamp) << table[i].what << " clamp";
    EXPECT_EQ(keep[i], table[i].keep) << table[i].what << " keep";
    EXPECT_EQ(flush[i], table[i].flush) << table[i].what << " flush";
    EXPECT_EQ(clamp[i], table[i].subnormal) << table[i].what << " subnormal";
    EXPECT_EQ(never[i], table[i].never) << table[i].what << " never zero";
  }
}

TEST(Transform, BitsOfF16) {
  ExpectBits(DType::kF16,
             {
                 {"0", 0x00000000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000},
                 {"-0", 0x80000000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000},
                 {"1e-30", 0x0da24260, 0x0000, 0x0000, 0x0000, 0x0000, 0x0001},
                 {"-1e-30", 0x8da24260, 0x8000, 0x8000, 0x8000, 0x8000, 0x8001},
                 {"a subnormal f32", 0x00000001, 0x0000, 0x0000, 0x0000, 0x0000, 0x0001},
                 {"-2^-25, a tie to zero", 0xb3000000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8001},
                 {"-2^-24, the smallest", 0xb3800000, 0x8001, 0x8001, 0x8000, 0x8001, 0x8001},
                 {"2^-15", 0x38000000, 0x0200, 0x0200, 0x0000, 0x0200, 0x0200},
                 {"-2^-14, the least normal", 0xb8800000, 0x8400, 0x8400, 0x8400, 0x8400, 0x8400},
                 {"65504", 0x477fe000, 0x7bff, 0x7bff, 0x7bff, 0x7bff, 0x7bff},
                 {"65519, rounds down", 0x477fef00, 0x7bff, 0x7bff, 0x7bff, 0x7bff, 0x7bff},
                 {"65520", 0x477ff000, 0x7bff, 0x7c00, 0x7bff, 0x7bff, 0x7bff},
                 {"-1e6", 0xc9742400, 0xfbff, 0xfc00, 0xfbff, 0xfbff, 0xfbff},
                 {"inf", 0x7f800000, 0x7c00, 0x7c00, 0x7c00, 0x7c00, 0x7c00},
                 {"-inf", 0xff800000, 0xfc00, 0xfc00, 0xfc00, 0xfc00, 0xfc00},
                 {"NaN", 0x7fc00000, 0x7e00, 0x7e00, 0x7e00, 0x7e00, 0x7e00},
                 {"-NaN", 0xffc00000, 0xfe00, 0xfe00, 0xfe00, 0xfe00, 0xfe00},
                 {"NaN with a payload in the upper bits", 0x7fd54000, 0x7eaa, 0x7eaa, 0x7eaa, 0x7eaa, 0x7eaa},
                 {"signalling NaN with a low payload becomes quiet, not infinite", 0xff800001, 0xfe00, 0xfe00, 0xfe00, 0xfe00, 0xfe00},
             });
}

TEST(Transform, BitsOfBF16) {
  ExpectBits(DType::kBF16,
             {
                 {"0", 0x00000000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000},
                 {"-0", 0x80000000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000},
                 {"-1e-30", 0x8da24260, 0x8da2, 0x8da2, 0x8da2, 0x8da2, 0x8da2},
                 {"-2^-149", 0x80000001, 0x8000, 0x8000, 0x8000, 0x8000, 0x8001},
                 {"2^-134, a tie to zero", 0x00008000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0001},
                 {"-2^-133, the smallest", 0x80010000, 0x8001, 0x8001, 0x8000, 0x8001, 0x8001},
                 {"-2^-127", 0x80400000, 0x8040, 0x8040, 0x8000, 0x8040, 0x8040},
                 {"-2^-126, the least normal", 0x80800000, 0x8080, 0x8080, 0x8080, 0x8080, 0x8080},
                 {"-1e6", 0xc9742400, 0xc974, 0xc974, 0xc974, 0xc974, 0xc974},
                 {"3.39e38, the largest", 0x7f7f0000, 0x7f7f, 0x7f7f, 0x7f7f, 0x7f7f, 0x7f7f},
                 {"-3.40e38, the largest f32", 0xff7fffff, 0xff7f, 0xff80, 0xff7f, 0xff7f, 0xff7f},
                 {"inf", 0x7f800000, 0x7f80, 0x7f80, 0x7f80, 0x7f80, 0x7f80},
                 {"-inf", 0xff800000, 0xff80, 0xff80, 0xff80, 0xff80, 0xff80},
                 {"NaN", 0x7fc00000, 0x7fc0, 0x7fc0, 0x7fc0, 0x7fc0, 0x7fc0},
                 {"-NaN", 0xffc00000, 0xffc0, 0xffc0, 0xffc0, 0xffc0, 0xffc0},
                 {"signalling NaN with a low payload becomes quiet, not infinite", 0xff800001, 0xffc0, 0xffc0, 0xffc0, 0xffc0, 0xffc0},
             });
}

// A double just above a tie of float16: rounding through float32 would see the tie.
TEST(Transform, DoublesRoundOnce) {
  const std::vector<double> values = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11, 1.0 + 0x1p-11 - 0x1p-40, -1e300, 0.0};
  const std::vector<uint16_t> low = Apply<uint16_t>(Ref(values, DType::kF64, {{DType::kF16, OnOverflow::kKeep, OnTiny::kSubnormal}}));
  EXPECT_EQ(low, (std::vector<uint16_t>{0x3c01, 0x3c00, 0x3c00, 0xfc00, 0x0000}));
}

TEST(Transform, ChainsApplyInOrder) {
  const std::vector<float> values = {1.0f / 3.0f, 65520.0f};
  const std::vector<float> back = Apply<float>(Ref(values, DType::kF32, {{DType::kF16}, {DType::kF32}}));
  EXPECT_EQ(back, (std::vector<float>{static_cast<float>(Half(1.0f / 3.0f)), 65504.0f}));
}

TEST(Transform, AWeightWithoutElementsMayLieAtTheEndOfItsFile) {
  WeightRef ref = Ref(std::vector<float>{1, 2}, DType::kF32);
  ref.offset = 8;
  ref.bytes = 0;
  std::string out;
  EXPECT_OK(TransformWindow(ref, 0, 0, &out, nullptr));
}

TEST(Transform, WindowOutsideTheWeight) {
  const WeightRef ref = Ref(std::vector<float>{1, 2}, DType::kF32);
  std::string out;
  EXPECT_THAT(TransformWindow(ref, 1, 2, &out, nullptr), StatusIs(ExitCode::kInternal, HasSubstr("window [1, +2) of 2 elements")));
  EXPECT_THAT(TransformWindow(ref, -1, 1, &out, nullptr), StatusIs(ExitCode::kInternal, HasSubstr("window")));
  WeightRef outside = ref;
  outside.offset = 5;
  EXPECT_THAT(TransformWindow(outside, 0, 1, &out, nullptr), StatusIs(ExitCode::kInternal, HasSubstr("leaves its file")));
}

TEST(LoadWeight, FromFileAndShapeChecked) {
  const TempFolder folder;
  const float values[] = {1, 2, 3, 4, 5, 6};
  testing::WriteFile(folder / "w", std::string(reinterpret_cast<const char*>(values), sizeof(values)));
  absl::StatusOr<std::shared_ptr<const WeightSource>> source = OpenWeightFile(folder / "w");
  ASSERT_OK(source);
  WeightRef ref;
  ref.source = *source;
  ref.bytes = sizeof(values);
  ref.dtype = DType::kF32;
  absl::StatusOr<HostTensor> tensor = LoadWeight(ref, {2, 3});
  ASSERT_OK(tensor);
  EXPECT_EQ(*tensor, HostTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(LoadWeight(ref, {2, 4}), StatusIs(ExitCode::kInternal, HasSubstr("needs 8 elements")));
  EXPECT_THAT(OpenWeightFile(folder / "absent"), StatusIs(ExitCode::kBadInput, HasSubstr("no such file")));
}

}  // namespace
}  // namespace ampc
