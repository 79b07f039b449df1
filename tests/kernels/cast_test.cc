// cast, amp_cast, amp_multicast, sum and dropout.
#include <cmath>
#include <limits>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kMin32 = std::numeric_limits<int32_t>::min(), kMax32 = std::numeric_limits<int32_t>::max();

absl::StatusOr<Tensor> Cast(const Tensor& x, DType to) {
  absl::StatusOr<std::vector<Tensor>> r = OpRun("cast").In("X", x).Attr("in_dtype", x.dtype).Attr("out_dtype", to).Out("Out").Run();
  if (!r.ok()) return r.status();
  return std::move((*r)[0]);
}

// The value `i` of a tensor of any type.
double At(const Tensor& t, int64_t i) {
  switch (t.stored.dtype()) {
    case DType::kBool: return t.stored.values<bool>()[i];
    case DType::kU8: return t.stored.values<uint8_t>()[i];
    case DType::kI8: return t.stored.values<int8_t>()[i];
    case DType::kI16: return t.stored.values<int16_t>()[i];
    case DType::kI32: return t.stored.values<int32_t>()[i];
    case DType::kI64: return static_cast<double>(t.stored.values<int64_t>()[i]);
    case DType::kF32: return t.stored.values<float>()[i];
    default: return t.stored.values<double>()[i];
  }
}

Tensor SmallValues(DType type) {
  switch (type) {
    case DType::kBool: return Of({3}, std::vector<bool>{false, true, true});
    case DType::kU8: return Of<uint8_t>({3}, {0, 1, 100});
    case DType::kI8: return Of<int8_t>({3}, {0, 1, 100});
    case DType::kI16: return Of<int16_t>({3}, {0, 1, 100});
    case DType::kI32: return I32({3}, {0, 1, 100});
    case DType::kI64: return I64({3}, {0, 1, 100});
    case DType::kF64: return Of<double>({3}, {0, 1, 100});
    default: return Low(type, {3}, {0, 1, 100});
  }
}

TEST(Cast, EveryPairOfTypesKeepsSmallValues) {
  const DType types[] = {DType::kBool, DType::kU8,  DType::kI8,   DType::kI16, DType::kI32,
                         DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  for (DType from : types) {
    for (DType to : types) {
      const Tensor x = SmallValues(from);
      ASSERT_OK_AND_ASSIGN(const Tensor y, Cast(x, to));
      EXPECT_EQ(y.dtype, to);
      EXPECT_EQ(y.stored.dtype(), StorageType(to));
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(At(y, i), to == DType::kBool ? At(x, i) != 0 : At(x, i)) << Name(from) << " to " << Name(to);
      }
    }
  }
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  const Tensor x = F32({10}, {1.9f, -1.9f, 3e9f, -3e9f, kInf, -kInf, kNaN, 2147483520.0f, -0.5f, 300});
  ASSERT_OK_AND_ASSIGN(Tensor y, Cast(x, DType::kI32));
  EXPECT_THAT(y.As<int32_t>(), ElementsAre(1, -1, kMax32, kMin32, kMax32, kMin32, 0, 2147483520, 0, 300));
  ASSERT_OK_AND_ASSIGN(y, Cast(x, DType::kU8));
  EXPECT_THAT(y.As<uint8_t>(), ElementsAre(1, 0, 255, 0, 255, 0, 0, 255, 0, 255));
  ASSERT_OK_AND_ASSIGN(y, Cast(x, DType::kBool));
  EXPECT_THAT(y.As<bool>(), Each(true));
  ASSERT_OK_AND_ASSIGN(y, Cast(Of<double>({2}, {9.3e18, -9.3e18}), DType::kI64));
  EXPECT_THAT(y.As<int64_t>(), ElementsAre(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()));
}

TEST(Cast, IntegersWrapAndRoundToNearestFloat) {
  ASSERT_OK_AND_ASSIGN(Tensor y, Cast(I32({3}, {256, -1, 300}), DType::kU8));
  EXPECT_THAT(y.As<uint8_t>(), ElementsAre(0, 255, 44));
  ASSERT_OK_AND_ASSIGN(y, Cast(I64({2}, {(int64_t{1} << 53) + 1, 16777217}), DType::kF32));
  EXPECT_THAT(y.floats(), ElementsAre(9007199254740992.0f, 16777216.0f));
  ASSERT_OK_AND_ASSIGN(y, Cast(I32({3}, {2049, 65519, 65520}), DType::kF16));
  EXPECT_THAT(y.floats(), ElementsAre(2048, 65504, kInf));
}

TEST(Cast, ToLowPrecisionRoundsToNearestEven) {
  std::vector<float> x = Random({70001}, 5, -1e-3f, 1e-3f).floats();
  const std::vector<float> special = {65519.996f, 65520,      -65520, 1e-8f, 5.96e-8f, 2.98e-8f,
                                      0x1.002p0f, 0x1.006p0f, kInf,   -kInf, -0.0f,    3.4e38f};
  x.insert(x.end(), special.begin(), special.end());
  const Shape dims = {static_cast<int64_t>(x.size())};
  for (DType to : {DType::kF16, DType::kBF16}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, Cast(F32(dims, x), to));
    EXPECT_TRUE(y.stored == Low(to, dims, x).stored);
  }
  ASSERT_OK_AND_ASSIGN(const Tensor y, Cast(Low(DType::kBF16, {2}, {1e6f, 0x1.02p0f}), DType::kF16));
  EXPECT_THAT(y.floats(), ElementsAre(kInf, 0x1.02p0f));
}

TEST(Cast, WideningIsAnAliasAndNarrowingWorksInPlace) {
  ASSERT_OK_AND_ASSIGN(auto k, OpRun("cast").In("X", Low(DType::kF16, {2}, {1, 2})).Attr("out_dtype", DType::kF32).Out("Out").Make());
  EXPECT_EQ(k->alias_input(), 0);
  ASSERT_OK_AND_ASSIGN(k, OpRun("cast").In("X", F32({2}, {1, 2})).Attr("out_dtype", DType::kF16).Out("Out").Make());
  EXPECT_EQ(k->alias_input(), -1);
  EXPECT_EQ(k->in_place_input(), 0);
  EXPECT_TRUE(k->rounds_results());
}

TEST(AmpCast, CastsFloatsAndPassesIntegers) {
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("amp_cast").In("X", F32({1}, {0x1.001p0f})).Attr("dtype", DType::kF16).Out("Out").Run());
  EXPECT_EQ(r[0].dtype, DType::kF16);
  EXPECT_THAT(r[0].floats(), ElementsAre(1));
  ASSERT_OK_AND_ASSIGN(r, OpRun("amp_cast").In("X", I32({1}, {7})).Attr("dtype", DType::kF16).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(7));
}

TEST(AmpMulticast, BringsFloatsToTheWidestOrNarrowest) {
  const Tensor wide = F32({2}, {0x1.001p0f, 1e6f}), low = Low(DType::kF16, {1}, {3}), ints = I32({1}, {7});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("amp_multicast").In("X", wide).In("X", low).In("X", ints).Out("Out", 3).Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(0x1.001p0f, 1e6f));
  EXPECT_EQ(r[1].dtype, DType::kF32);
  EXPECT_THAT(r[2].As<int32_t>(), ElementsAre(7));
  ASSERT_OK_AND_ASSIGN(r, OpRun("amp_multicast").In("X", wide).In("X", low).Attr("cast_narrow", true).Out("Out", 2).Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, kInf));
  EXPECT_EQ(r[1].dtype, DType::kF16);
}

TEST(Sum, AddsInF32AndRoundsOnce) {
  // In f16 each step would lose the ones: 2048 + 1 is 2048.
  const Tensor big = Low(DType::kF16, {3}, {2048, -1, kInf}), one = Low(DType::kF16, {3}, {1, 1, -kInf});
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("sum").In("X", big).In("X", one).In("X", one).Out("Out").Run());
  EXPECT_EQ(r[0].floats()[0], 2050);
  EXPECT_EQ(r[0].floats()[1], 1);
  EXPECT_TRUE(std::isnan(r[0].floats()[2]));
}

TEST(Sum, OneOrManyOperandsOfManySizes) {
  for (int64_t n : {0, 1, 5, 2048, 70000}) {
    for (int operands : {1, 2, 5}) {
      OpRun run("sum");
      std::vector<float> want(n, 0);
      for (int i = 0; i < operands; ++i) {
        const Tensor x = Random({n}, i);
        run.In("X", x);
        const std::vector<float> v = x.floats();
        for (int64_t k = 0; k < n; ++k) want[k] = i == 0 ? v[k] : want[k] + v[k];
      }
      ASSERT_OK_AND_ASSIGN(const auto r, run.Out("Out").Run());
      EXPECT_EQ(r[0].floats(), want);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("sum").In("X", I64({1}, {5})).In("X", I64({1}, {-7})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(-2));
}

TEST(Dropout, TestModeIsIdentityOrScales) {
  const Tensor x = F32({4}, {1, -2, -0.0f, kInf});
  OpRun up("dropout");
  up.In("X", x).Attr("dropout_prob", 0.25f).Attr("is_test", true).Attr("dropout_implementation", "upscale_in_train").Out("Out");
  ASSERT_OK_AND_ASSIGN(auto r, up.Run());
  EXPECT_TRUE(r[0].stored == x.stored);
  ASSERT_OK_AND_ASSIGN(const auto k, up.Make());
  EXPECT_EQ(k->alias_input(), 0);
  OpRun down("dropout");
  down.In("X", x)
      .Attr("dropout_prob", 0.25f)
      .Attr("is_test", true)
      .Attr("dropout_implementation", "downgrade_in_infer")
      .Out("Out")
      .Out("Mask");
  ASSERT_OK_AND_ASSIGN(r, down.Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(0.75f, -1.5f, 0, kInf));
  EXPECT_TRUE(std::signbit(r[0].floats()[2]));
  EXPECT_THAT(r[1].As<uint8_t>(), Each(1));
}

TEST(Dropout, TrainingDropsBySeedAndKeepsTheRest) {
  const Tensor x = F32({40000}, std::vector<float>(40000, 3));
  const auto run = [&](int seed, float p) {
    return OpRun("dropout")
        .In("X", x)
        .In("Seed", I32({1}, {seed}))
        .Attr("dropout_prob", p)
        .Attr("dropout_implementation", "upscale_in_train")
        .Out("Out")
        .Out("Mask")
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto a, run(1, 0.25f));
  ASSERT_OK_AND_ASSIGN(const auto b, run(2, 0.25f));
  EXPECT_FALSE(a[1].stored == b[1].stored);
  int kept = 0;
  for (int i = 0; i < 40000; ++i) {
    const bool keep = a[1].stored.values<uint8_t>()[i] != 0;
    kept += keep;
    ASSERT_EQ(a[0].stored.values<float>()[i], keep ? 4.0f : 0.0f);
  }
  EXPECT_NEAR(kept, 30000, 400);  // 4.6 standard deviations; the seed is fixed
  ASSERT_OK_AND_ASSIGN(const auto none, run(1, 1.0f));
  EXPECT_THAT(none[0].floats(), Each(0));
  EXPECT_THAT(OpRun("dropout").In("X", x).Out("Out").Out("Mask").Run(), StatusIs(ExitCode::kUnsupported, HasSubstr("Seed")));
}

}  // namespace
}  // namespace ampc::testing
