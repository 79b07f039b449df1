// Kernels of optimizers: master weights, skipped steps, gradient norms.
#include <cmath>
#include <limits>
#include <map>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/round.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The states of a parameter by operand slot, without the parameter itself.
using State = std::map<std::string, Tensor>;

struct Weights {
  Tensor param;
  State state;  // with MasterParam where there is one
};

State InitialState(const std::string& op, int64_t n) {
  const Tensor zeros = F32({n}, std::vector<float>(n, 0));
  if (op == "sgd") return {};
  if (op == "momentum") return {{"Velocity", zeros}};
  return {{"Moment1", zeros}, {"Moment2", zeros}, {"Beta1Pow", F32({1}, {0.9f})}, {"Beta2Pow", F32({1}, {0.999f})}};
}

std::vector<Attr> AttrsOf(const std::string& op) {
  if (op == "momentum") return {{"mu", 0.9f}, {"regularization_method", "l2_decay"}, {"regularization_coeff", 0.01f}};
  if (op == "adamw") return {{"coeff", 0.01f}, {"with_decay", true}};
  if (op == "lamb") return {{"weight_decay", 0.01f}};
  return {};
}

absl::StatusOr<Weights> Step(const std::string& op, const Weights& before, const Tensor& grad, bool skip, float grad_scale = 1) {
  OpRun run(op);
  run.In("Param", before.param).In("Grad", grad).In("LearningRate", F32({1}, {0.05f})).In("SkipUpdate", Of({1}, std::vector<bool>{skip}));
  for (const auto& [slot, tensor] : before.state) run.In(slot, tensor);
  for (const Attr& attr : AttrsOf(op)) run.Attr(attr.name, attr.value);
  if (before.state.contains("MasterParam")) run.Attr("multi_precision", true);
  if (grad_scale != 1) run.In("GradScale", F32({1}, {grad_scale}));
  std::vector<std::string> slots;
  for (const SlotDef& slot : Ops().Find(op)->outputs) {
    const std::string from = slot.name.substr(0, slot.name.size() - 3);
    if (from != "Param" && !before.state.contains(from)) continue;
    run.Out(slot.name);
    slots.push_back(from);
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> results, run.Run());
  Weights after{results[0], {}};
  for (size_t i = 1; i < slots.size(); ++i) after.state[slots[i]] = results[i];
  return after;
}

class Optimizers : public ::testing::TestWithParam<const char*> {};

// 50 steps of an f16 parameter with a master weight are those of an f32 parameter; the low copy is the master, rounded.
TEST_P(Optimizers, MasterWeightIsTheWideRun) {
  constexpr int64_t kSize = 5000;
  const Tensor start = Random({kSize}, 1);
  for (const DType low : {DType::kF16, DType::kBF16}) {
    Weights wide{start, InitialState(GetParam(), kSize)};
    Weights narrow{Low(low, {kSize}, start.floats()), InitialState(GetParam(), kSize)};
    narrow.state["MasterParam"] = start;
    for (int step = 0; step < 50; ++step) {
      const Tensor grad = Low(low, {kSize}, Random({kSize}, 100 + step, -1, 1).floats());
      const Tensor same{DType::kF32, grad.stored};
      ASSERT_OK_AND_ASSIGN(wide, Step(GetParam(), wide, same, false));
      ASSERT_OK_AND_ASSIGN(narrow, Step(GetParam(), narrow, step % 2 == 0 ? grad : same, false));
      ASSERT_TRUE(narrow.state["MasterParam"].stored == wide.param.stored) << "step " << step;
      ASSERT_TRUE(narrow.param.stored == Low(low, {kSize}, wide.param.floats()).stored) << "step " << step;
    }
    ASSERT_FALSE(wide.param.stored == start.stored);
  }
}

// A gradient that the update divides is one that was divided before, in f32 whatever its type: 2^-20 and less are no numbers of f16.
TEST_P(Optimizers, GradScaleDividesInF32) {
  constexpr int64_t kSize = 3001;
  for (const DType low : {DType::kF16, DType::kBF16}) {
    const Tensor start = Random({kSize}, 1), scaled = Low(low, {kSize}, Random({kSize}, 2, -1, 1).floats());
    Weights before{Low(low, {kSize}, start.floats()), InitialState(GetParam(), kSize)};
    before.state["MasterParam"] = start;
    std::vector<float> divided = scaled.floats();
    for (float& v : divided) v *= 0x1p-20f;
    ASSERT_OK_AND_ASSIGN(const Weights want, Step(GetParam(), before, F32({kSize}, divided), false));
    ASSERT_OK_AND_ASSIGN(const Weights got, Step(GetParam(), before, scaled, false, 0x1p20f));
    EXPECT_TRUE(got.param.stored == want.param.stored);
    for (const auto& [slot, tensor] : want.state) EXPECT_TRUE(got.state.at(slot).stored == tensor.stored) << slot;
    EXPECT_FALSE(got.state.at("MasterParam").stored == start.stored);
  }
}

TEST_P(Optimizers, SkippedStepChangesNothing) {
  const int64_t n = 1000;
  const std::vector<float> values = Random({n}, 3).floats();
  for (const bool master : {false, true}) {
    Weights before{master ? Low(DType::kF16, {n}, values) : F32({n}, values), InitialState(GetParam(), n)};
    for (auto& [slot, tensor] : before.state) tensor = Random({tensor.stored.num_elements()}, 4, 0, 1);
    if (master) before.state["MasterParam"] = F32({n}, values);
    std::vector<float> bad(n, 1);
    bad[7] = kNan;
    ASSERT_OK_AND_ASSIGN(Weights after, Step(GetParam(), before, F32({n}, bad), true));
    EXPECT_TRUE(after.param.stored == before.param.stored);
    for (const auto& [slot, tensor] : before.state) EXPECT_TRUE(after.state[slot].stored == tensor.stored) << slot;
    ASSERT_OK_AND_ASSIGN(after, Step(GetParam(), before, F32({n}, bad), false));
    EXPECT_FALSE(after.param.stored == before.param.stored);
  }
}

// A low parameter without a master weight loses small steps.
TEST_P(Optimizers, WithoutMasterTheLowParamIsRounded) {
  const int64_t n = 64;
  const Weights before{Low(DType::kF16, {n}, std::vector<float>(n, 1)), InitialState(GetParam(), n)};
  const bool own_type = std::string(GetParam()) == "momentum";
  Weights low = before;
  if (own_type) low.state["Velocity"].dtype = DType::kF16;
  ASSERT_OK_AND_ASSIGN(const Weights after, Step(GetParam(), low, Low(DType::kF16, {n}, std::vector<float>(n, 0.25f)), false));
  const float found = after.param.floats()[5];
  float rounded = found;
  RoundTo(DType::kF16, &rounded, 1);
  EXPECT_EQ(found, rounded);
  EXPECT_LT(found, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, ::testing::Values("sgd", "momentum", "adam", "adamw", "lamb"),
                         [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

TEST(Optimizer, DoubleParameters) {
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("sgd")
                                         .In("Param", Of<double>({3}, {1, 2, 3}))
                                         .In("Grad", Of<double>({3}, {1e-12, 0, 4}))
                                         .In("LearningRate", Of<double>({1}, {0.5}))
                                         .Out("ParamOut")
                                         .Run());
  EXPECT_THAT(r[0].doubles(), ElementsAre(1 - 0.5e-12, 2, 1));
}

TEST(Optimizer, MasterNeedsItsOperand) {
  EXPECT_THAT(OpRun("sgd")
                  .In("Param", Low(DType::kF16, {1}, {1}))
                  .In("Grad", Low(DType::kF16, {1}, {1}))
                  .In("LearningRate", F32({1}, {1}))
                  .Attr("multi_precision", true)
                  .Out("ParamOut")
                  .Run(),
              StatusIs(ExitCode::kBadInput, HasSubstr("multi_precision is true without a MasterParam, needs both or none (sgd.c3)")));
}

TEST(Optimizer, MomentumRescalesTheGradient) {
  const auto run = [](float rescale, std::vector<float> grad) {
    return OpRun("momentum")
        .In("Param", F32({2}, {1, -1}))
        .In("Grad", F32({2}, grad))
        .In("Velocity", F32({2}, {0.5f, 0.25f}))
        .In("LearningRate", F32({1}, {0.5f}))
        .Attr("mu", 0.5f)
        .Attr("rescale_grad", rescale)
        .Out("ParamOut")
        .Out("VelocityOut")
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto a, run(0.125f, {8, 16}));
  ASSERT_OK_AND_ASSIGN(const auto b, run(1, {1, 2}));
  EXPECT_EQ(a[0].floats(), b[0].floats());
  EXPECT_THAT(a[1].floats(), ElementsAre(1.25f, 2.125f));
}

// norm by numpy: x = linspace(-1, 1, n).astype(f4); (x.astype(f8) ** 2).sum()
TEST(Norms, SumOfSquares) {
  for (const auto& [n, want] : std::map<int64_t, double>{{1, 1}, {5, 2.5}, {40001, 13334.33335001213}}) {
    std::vector<float> x(n);
    for (int64_t i = 0; i < n; ++i) x[i] = n == 1 ? -1 : static_cast<float>(-1 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1));
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun("squared_l2_norm").In("X", F32({n}, x)).Out("Out").Run());
    EXPECT_TRUE(Near(r[0].floats()[0], want, ToleranceFor(DType::kF32))) << r[0].floats()[0];
  }
}

TEST(Norms, LowGradientsAreAddedUpInF32) {
  const Tensor x = Low(DType::kF16, {4}, {300, 300, 1, 0});
  ASSERT_OK_AND_ASSIGN(const auto wide, OpRun("squared_l2_norm").In("X", x).Attr("out_dtype", DType::kF32).Out("Out").Run());
  EXPECT_THAT(wide[0].floats(), ElementsAre(180001));
  ASSERT_OK_AND_ASSIGN(const auto low, OpRun("squared_l2_norm").In("X", x).Out("Out").Run());
  EXPECT_TRUE(std::isinf(low[0].floats()[0]));
}

TEST(Norms, OfSeveralTensors) {
  OpRun many("grouped_squared_l2_norm");
  std::vector<Tensor> tensors;
  for (uint32_t i = 0; i < 1200; ++i) tensors.push_back(Random({i % 83 == 2 ? 40'000 - i : i % 50}, i));
  for (const Tensor& t : tensors) many.In("X", t);
  ASSERT_OK_AND_ASSIGN(const auto found, many.Out("Out", static_cast<int>(tensors.size())).Run());
  for (size_t i = 0; i < tensors.size(); i += 7) {
    ASSERT_OK_AND_ASSIGN(const auto one, OpRun("squared_l2_norm").In("X", tensors[i]).Out("Out").Run());
    EXPECT_EQ(found[i].floats()[0], one[0].floats()[0]) << i;
  }
}

TEST(Norms, ClipByNorm) {
  const auto run = [](float most) { return OpRun("clip_by_norm").In("X", F32({2}, {3, -4})).Attr("max_norm", most).Out("Out").Run(); };
  ASSERT_OK_AND_ASSIGN(const auto shorter, run(1));
  EXPECT_FLOAT_EQ(shorter[0].floats()[0], 0.6f);
  EXPECT_FLOAT_EQ(shorter[0].floats()[1], -0.8f);
  for (const float most : {5.0f, 6.0f}) {
    ASSERT_OK_AND_ASSIGN(const auto kept, run(most));
    EXPECT_THAT(kept[0].floats(), ElementsAre(3, -4));
  }
  ASSERT_OK_AND_ASSIGN(const auto zeros, OpRun("clip_by_norm").In("X", F32({2}, {0, 0})).Attr("max_norm", 1.0f).Out("Out").Run());
  EXPECT_THAT(zeros[0].floats(), ElementsAre(0, 0));
}

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments MomentsOf(const Tensor& t) {
  Moments m{0, 0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const std::vector<float> v = t.floats();
  for (const float x : v) {
    m.mean += x / static_cast<double>(v.size());
    m.least = std::min<double>(m.least, x);
    m.most = std::max<double>(m.most, x);
  }
  for (const float x : v) m.deviation += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

TEST(Random, Distributions) {
  const auto run = [](const char* op, const char* a, float x, const char* b, float y, int seed) {
    return OpRun(op).Attr("shape", std::vector<int64_t>{100, 500}).Attr(a, x).Attr(b, y).Attr("seed", seed).Out("Out").Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto uniform, run("uniform_random", "min", -1, "max", 3, 0));
  Moments m = MomentsOf(uniform[0]);
  EXPECT_NEAR(m.mean, 1, 0.03);
  EXPECT_NEAR(m.deviation, 4 / std::sqrt(12.0), 0.02);
  EXPECT_TRUE(m.least >= -1 && m.least < -0.99 && m.most < 3 && m.most > 2.99);
  ASSERT_OK_AND_ASSIGN(const auto normal, run("gaussian_random", "mean", 2, "std", 0.5f, 0));
  m = MomentsOf(normal[0]);
  EXPECT_NEAR(m.mean, 2, 0.02);
  EXPECT_NEAR(m.deviation, 0.5, 0.01);
  EXPECT_GT(m.most, 3.2);
  ASSERT_OK_AND_ASSIGN(const auto truncated, run("truncated_gaussian_random", "mean", 2, "std", 0.5f, 0));
  m = MomentsOf(truncated[0]);
  EXPECT_NEAR(m.mean, 2, 0.02);
  EXPECT_NEAR(m.deviation, 0.5 * 0.87962566, 0.01);  // of a normal distribution cut at two deviations
  EXPECT_TRUE(m.least >= 1 && m.most <= 3 && m.most > 2.98);
  ASSERT_OK_AND_ASSIGN(const auto again, run("gaussian_random", "mean", 2, "std", 0.5f, 0));
  EXPECT_TRUE(again[0].stored == normal[0].stored);
  ASSERT_OK_AND_ASSIGN(const auto other, run("gaussian_random", "mean", 2, "std", 0.5f, 1));
  EXPECT_FALSE(other[0].stored == normal[0].stored);
}

}  // namespace
}  // namespace ampc::testing
