// Integers are computed as integers: none goes through a float that has only a neighbour of it.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "graph/op_registry.h"
#include "kernels/kernel_registry.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kOdd = (int64_t{1} << 53) + 1, kLarge = int64_t{1} << 62;
const std::vector<int64_t> kAll = {kLeast, -kOdd, 0, kOdd, kLarge, kMost};

// The op with `x` in its first operand and ones in the others; empty where that is not what it takes, or where its result is no i64 for
// each element.
std::vector<int64_t> Apply(const OpDef& def, const std::vector<int64_t>& x) {
  const Shape dims = {static_cast<int64_t>(x.size())};
  OpRun run(def.name);
  for (size_t i = 0; i < def.inputs.size(); ++i) {
    if (def.inputs[i].optional) continue;
    run.In(def.inputs[i].name, i == 0 ? I64(dims, x) : I64(dims, std::vector<int64_t>(x.size(), 1)));
  }
  run.Out(def.outputs[0].name);
  const absl::StatusOr<std::vector<Tensor>> out = run.Run();
  return out.ok() && (*out)[0].dims() == absl::MakeConstSpan(dims) ? (*out)[0].As<int64_t>() : std::vector<int64_t>();
}

bool TellsApart(const std::vector<int64_t>& results) { return results[0] != results[1] && results[2] != results[3]; }

// Results that differ for small neighbours differ for large ones.
TEST(Integers, EveryKernelTellsNeighboursApart) {
  int checked = 0;
  for (const KernelEntry* entry : CpuKernels().All()) {
    const OpDef* def = Ops().Find(entry->op);
    if (def == nullptr || def->inputs.empty() || def->inputs[0].optional || def->outputs.empty() || entry->make == nullptr) continue;
    if (std::find(entry->dtypes.begin(), entry->dtypes.end(), DType::kI64) == entry->dtypes.end()) continue;
    const std::vector<int64_t> small = Apply(*def, {2, 3, 1000, 1001});
    if (small.size() != 4 || !TellsApart(small)) continue;
    const std::vector<int64_t> large = Apply(*def, {kOdd - 1, kOdd, kLarge, kLarge + 1});
    ASSERT_EQ(large.size(), 4u) << entry->op;
    EXPECT_TRUE(TellsApart(large)) << entry->op;
    ++checked;
  }
  EXPECT_GE(checked, 15);
}

// Any bits, so that sums wrap; against a sum in 64 bits.
TEST(Integers, DrawnProducts) {
  std::mt19937 rng(24);
  const auto below = [&rng](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); };
  const auto drawn = [&rng](const Shape& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    std::vector<int32_t> values(static_cast<size_t>(n));
    for (int32_t& v : values) v = static_cast<int32_t>(rng());
    return I32(dims, values);
  };
  for (int round = 0; round < 80; ++round) {
    const int64_t stacks = 1 + below(3), m = 1 + below(40), n = 1 + below(70), k = 1 + below(60);
    const bool turned_a = below(3) == 0, turned_b = below(4) == 0, one_b = below(2) == 0;
    SCOPED_TRACE(::testing::PrintToString(Shape{stacks, m, n, k, turned_a, turned_b, one_b}));
    const Tensor a = drawn(turned_a ? Shape{stacks, k, m} : Shape{stacks, m, k});
    const Tensor b = drawn(turned_b ? Shape{one_b ? 1 : stacks, n, k} : Shape{one_b ? 1 : stacks, k, n});
    const std::vector<int32_t> as = a.As<int32_t>(), bs = b.As<int32_t>();
    std::vector<int32_t> want;
    for (int64_t s = 0; s < stacks; ++s) {
      for (int64_t i = 0; i < m * n; ++i) {
        const int64_t row = i / n, column = i % n;
        uint64_t sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          const int64_t x = as[s * m * k + (turned_a ? l * m + row : row * k + l)];
          const int64_t y = bs[(one_b ? 0 : s) * k * n + (turned_b ? column * k + l : l * n + column)];
          sum += static_cast<uint64_t>(x) * static_cast<uint64_t>(y);
        }
        want.push_back(static_cast<int32_t>(static_cast<uint32_t>(sum)));
      }
    }
    OpRun run("matmul_v2");
    run.In("X", a).In("Y", b).Attr("trans_x", turned_a).Attr("trans_y", turned_b).Out("Out");
    ASSERT_OK_AND_ASSIGN(const auto got, run.Run());
    EXPECT_EQ(got[0].As<int32_t>(), want);
    ASSERT_OK_AND_ASSIGN(const auto kernel, run.Make());
    EXPECT_EQ(kernel->implementation(), turned_b ? "ampc:plain" : "ampc:simd");
  }
}

TEST(Integers, BoundsOfClip) {
  const Tensor x = I64({6}, kAll);
  for (const bool known : {false, true}) {
    for (const int64_t low : kAll) {
      for (const int64_t high : kAll) {
        OpRun run("clip");
        known ? run.Const("Min", I64({1}, {low})).Const("Max", I64({1}, {high}))
              : run.In("Min", I64({1}, {low})).In("Max", I64({1}, {high}));
        ASSERT_OK_AND_ASSIGN(const auto out, run.In("X", x).Attr("min", 0.0f).Attr("max", 0.0f).Out("Out").Run());
        std::vector<int64_t> want;
        for (const int64_t v : kAll) want.push_back(std::min(std::max(v, low), high));
        EXPECT_EQ(out[0].As<int64_t>(), want) << low << " to " << high;
      }
    }
  }
}

// Of u64 the upper half, too; where a bound is the float of an attribute, u64 ends at 0.
TEST(Integers, UnsignedOnes) {
  constexpr uint64_t kTop = std::numeric_limits<uint64_t>::max(), kHalf = uint64_t{1} << 63;
  const Tensor x = Of<uint64_t>({3}, {0, kHalf + 1, kTop});
  const auto run = [&](OpRun op) { return op.In("X", x).Out("Out").Run(); };
  const auto bound = [](uint64_t v) { return Of<uint64_t>({1}, {v}); };
  ASSERT_OK_AND_ASSIGN(const auto fed,
                       run(OpRun("clip").In("Min", bound(1)).In("Max", bound(kTop - 1)).Attr("min", 0.0f).Attr("max", 0.0f)));
  EXPECT_THAT(fed[0].As<uint64_t>(), ElementsAre(1, kHalf + 1, kTop - 1));
  ASSERT_OK_AND_ASSIGN(const auto known,
                       run(OpRun("clip").Const("Min", bound(1)).Const("Max", bound(kTop - 1)).Attr("min", 0.0f).Attr("max", 0.0f)));
  EXPECT_THAT(known[0].As<uint64_t>(), ElementsAre(1, kHalf + 1, kTop - 1));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(const auto open, run(OpRun("clip").Attr("min", -kInf).Attr("max", kInf)));
  EXPECT_THAT(open[0].As<uint64_t>(), ElementsAre(0, kHalf + 1, kTop));
  ASSERT_OK_AND_ASSIGN(const auto scaled, run(OpRun("scale").Attr("scale", 1.0f)));
  EXPECT_THAT(scaled[0].As<uint64_t>(), ElementsAre(0, kHalf + 1, kTop));
}

// Products modulo 2^64, as of any integers.
TEST(Integers, Powers) {
  for (const int64_t exponent : {0, 1, 2, 3, 5, 39, 64}) {
    std::vector<int64_t> bases = kAll, want;
    bases.insert(bases.end(), {3, -3, 2, -2, -1, 1});
    for (const int64_t base : bases) {
      uint64_t power = 1;
      for (int64_t i = 0; i < exponent; ++i) power *= static_cast<uint64_t>(base);
      want.push_back(static_cast<int64_t>(power));
    }
    const Shape dims = {static_cast<int64_t>(bases.size())};
    ASSERT_OK_AND_ASSIGN(const auto out, OpRun("elementwise_pow").In("X", I64(dims, bases)).In("Y", I64({1}, {exponent})).Out("Out").Run());
    EXPECT_EQ(out[0].As<int64_t>(), want) << exponent;
    ASSERT_OK_AND_ASSIGN(const auto fed, OpRun("pow").In("X", I64(dims, bases)).In("FactorTensor", I64({1}, {exponent})).Out("Out").Run());
    EXPECT_EQ(fed[0].As<int64_t>(), want) << exponent;
    ASSERT_OK_AND_ASSIGN(const auto known,
                         OpRun("pow").In("X", I64(dims, bases)).Attr("factor", static_cast<float>(exponent)).Out("Out").Run());
    EXPECT_EQ(known[0].As<int64_t>(), want) << exponent;
  }
}

// The rest of a fraction. Of 0 the end of the range: ONNX Runtime gives the other end, which is what its CPU makes of infinity; numpy
// refuses all of them.
TEST(Integers, PowersBelowZero) {
  const Tensor x = I64({9}, {0, 1, -1, 2, -2, 7, -7, kMost, kLeast});
  for (const int64_t exponent : {int64_t{-1}, int64_t{-2}, int64_t{-3}, kLeast}) {
    const std::vector<int64_t> want = {kMost, 1, exponent % 2 == 0 ? 1 : -1, 0, 0, 0, 0, 0, 0};
    ASSERT_OK_AND_ASSIGN(const auto two, OpRun("elementwise_pow").In("X", x).In("Y", I64({1}, {exponent})).Out("Out").Run());
    EXPECT_EQ(two[0].As<int64_t>(), want) << exponent;
    ASSERT_OK_AND_ASSIGN(const auto fed, OpRun("pow").In("X", x).In("FactorTensor", I64({1}, {exponent})).Out("Out").Run());
    EXPECT_EQ(fed[0].As<int64_t>(), want) << exponent;
    ASSERT_OK_AND_ASSIGN(const auto known, OpRun("pow").In("X", x).Attr("factor", static_cast<float>(exponent)).Out("Out").Run());
    EXPECT_EQ(known[0].As<int64_t>(), want) << exponent;
  }
}

TEST(Integers, FactorOfScale) {
  for (const int64_t factor : kAll) {
    ASSERT_OK_AND_ASSIGN(const auto out, OpRun("scale").In("X", I64({2}, {1, 0})).In("ScaleTensor", I64({1}, {factor})).Out("Out").Run());
    EXPECT_THAT(out[0].As<int64_t>(), ElementsAre(factor, 0));
  }
}

TEST(Integers, SeedsOfDropout) {
  const auto mask = [](int64_t seed) -> std::vector<uint8_t> {
    const auto out =
        OpRun("dropout").In("X", F32({64}, std::vector<float>(64, 1))).In("Seed", I64({1}, {seed})).Out("Out").Out("Mask").Run();
    return out.ok() ? (*out)[1].As<uint8_t>() : std::vector<uint8_t>();
  };
  for (const int64_t seed : {kOdd, kLarge + 1, kMost}) EXPECT_NE(mask(seed), mask(seed - 1)) << seed;
}

}  // namespace
}  // namespace ampc::testing
