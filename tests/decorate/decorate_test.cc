// The programs that Decorate makes by its options, and the training programs of ampc's own mode.
#include "runtime/train/decorate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/amp_scope.h"
#include "graph/base/json_reader.h"
#include "passes/amp/training/verify_training.h"
#include "passes/append_op.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::amp {
namespace {

using ::ampc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The calls that were recorded, as our options; null: C++ has no such call.
const std::map<std::string, std::function<DecorateOptions()>>& Calls() {
  static const auto* calls = new std::map<std::string, std::function<DecorateOptions()>>{
      {"decorate(opt)", [] { return DecorateOptions(); }},
      {"decorate(opt, lists)", [] { return DecorateOptions{.lists = {.custom_black_list = {"relu"}}}; }},
      {"decorate(opt, lists, 128.0)",
       [] {
         auto o = LegacyPaddle();
         o.init_loss_scaling = 128;
         return o;
       }},
      {"decorate(opt, lists, 128)", nullptr},
      {"decorate(opt, lists, 'O2')", [] { return DecorateOptions{.level = "O2"}; }},
      {"decorate(opt, init_loss_scaling=128.0)", [] { return DecorateOptions{.init_loss_scaling = 128}; }},
      {"decorate(opt, use_pure_fp16=True)",
       [] {
         auto o = LegacyPaddle();
         o.use_pure_fp16 = true;
         return o;
       }},
      {"decorate(opt, use_bf16=True)",
       [] {
         auto o = LegacyPaddle();
         o.dtype = DType::kBF16;
         return o;
       }},
      {"decorate(opt, lists, init_loss_scaling=128.0, use_dynamic_loss_scaling=True, use_pure_fp16=True)",
       [] {
         auto o = LegacyPaddle();
         o.init_loss_scaling = 128;
         o.use_pure_fp16 = true;
         return o;
       }},
      {"nine legacy keywords", nullptr},
      {"ten legacy positional",
       [] {
         auto o = LegacyPaddle();
         o.init_loss_scaling = 8;
         o.incr_every_n_steps = 3;
         o.decr_ratio = 0.5;
         return o;
       }},
      {"decorate(opt, level='O2')", [] { return DecorateOptions{.level = "O2"}; }},
      {"decorate(opt, level='O2', master_weight=False)", [] { return DecorateOptions{.level = "O2", .master_weight = false}; }},
      {"decorate(opt, level='O2', dtype='bfloat16')", [] { return DecorateOptions{.level = "O2", .dtype = DType::kBF16}; }},
      {"decorate(opt, level='O2', dtype='bfloat16', use_dynamic_loss_scaling=True)",
       [] { return DecorateOptions{.use_dynamic_loss_scaling = true, .level = "O2", .dtype = DType::kBF16}; }},
      {"decorate(opt, level='o1')", [] { return DecorateOptions{.level = "o1"}; }},
      {"decorate(opt, level='OD')", [] { return DecorateOptions{.level = "OD"}; }},
      {"decorate(opt, level='O0')", [] { return DecorateOptions{.level = "O0"}; }},
      {"decorate(opt, level='O3')", [] { return DecorateOptions{.level = "O3"}; }},
      {"nine keywords of the newer form", [] { return DecorateOptions{.init_loss_scaling = 8, .incr_every_n_steps = 3, .level = "O2"}; }},
      {"decorate(opt, level='O1', use_pure_fp16=True)", [] { return DecorateOptions{.use_pure_fp16 = true, .level = "O1"}; }},
  };
  return *calls;
}

TEST(DecorateOptionsTest, ResolveAsRecorded) {
  const absl::StatusOr<JsonValue> json = ParseJson(::ampc::testing::ReadFile("tests/golden/paddle_training/decorate_overloads.json"));
  ASSERT_OK(json);
  ASSERT_EQ(json->Find("results")->items.size(), 21u);
  for (const JsonValue& row : json->Find("results")->items) {
    const std::string& call = row.Find("call")->text;
    ASSERT_TRUE(Calls().contains(call)) << call;
    if (Calls().at(call) == nullptr) {
      EXPECT_NE(row.Find("raises"), nullptr) << call;
      continue;
    }
    DecorateOptions options = Calls().at(call)();
    options.compat = "paddle-2.6";
    const absl::StatusOr<AmpSettings> found = Resolve(options);
    ASSERT_EQ(found.ok(), row.Find("raises") == nullptr) << call << ": " << found.status();
    if (!found.ok()) continue;
    EXPECT_EQ(found->level, row.Find("level")->text) << call;
    EXPECT_EQ(found->guard, row.Find("guard")->boolean) << call;
    EXPECT_EQ(found->force_multi_precision, row.Find("multi_precision_forced")->boolean) << call;
    EXPECT_EQ(found->scaling.init, *row.Find("init_loss_scaling")->AsDouble()) << call;
    EXPECT_EQ(found->scaling.dynamic, row.Find("dynamic")->boolean) << call;
    if (!found->scaling.dynamic) continue;
    EXPECT_EQ(found->scaling.incr_every_n_steps, *row.Find("incr_every_n_steps")->AsInt()) << call;
    EXPECT_EQ(found->scaling.decr_every_n_nan_or_inf, *row.Find("decr_every_n_nan_or_inf")->AsInt()) << call;
    EXPECT_EQ(found->scaling.incr_ratio, *row.Find("incr_ratio")->AsDouble()) << call;
    EXPECT_EQ(found->scaling.decr_ratio, *row.Find("decr_ratio")->AsDouble()) << call;
  }
}

TEST(DecorateOptionsTest, OwnBf16IsNotScaled) {
  const absl::StatusOr<AmpSettings> settings = Resolve({.level = "O2", .dtype = DType::kBF16});
  ASSERT_OK(settings);
  EXPECT_FALSE(settings->scaling.dynamic);
  EXPECT_EQ(settings->scaling.init, 1);
}

TEST(DecorateOptionsTest, ScalingThatIsNotDoneIsNoted) {
  const absl::StatusOr<AmpSettings> settings = Resolve({.use_dynamic_loss_scaling = true, .level = "O2", .dtype = DType::kBF16});
  ASSERT_OK(settings);
  EXPECT_FALSE(settings->scaling.dynamic);
  EXPECT_THAT(settings->notes, ::testing::ElementsAre(HasSubstr("use_dynamic_loss_scaling is off")));
}

TEST(ListsTest, ContradictionsNameTheOp) {
  EXPECT_THAT(Resolve({.lists = {.custom_white_list = {"relu"}, .custom_black_list = {"relu"}}}),
              StatusIs(ExitCode::kUsage, "op 'relu' is in the custom white list and in the custom black list, needs to be in one"));
  EXPECT_THAT(Resolve({.lists = {.custom_black_list = {"matmul_v3"}}}),
              StatusIs(ExitCode::kUsage, AllOf(HasSubstr("'matmul_v3', which is unknown"), HasSubstr("did you mean 'matmul_v2'"))));
  DecorateOptions options;
  options.lists.HalfFunction("my_op").FloatFunction("my_op");
  EXPECT_THAT(Resolve(options), StatusIs(ExitCode::kUsage, HasSubstr("'my_op' is in the half functions and in the float functions")));
}

TEST(ListsTest, AFirstErrorIsKept) {
  const auto optimizer = Decorate(Sgd(), {.level = "O7"});
  Program main, startup;
  EXPECT_THAT(optimizer->AmpInit({}, *std::make_unique<::ampc::Scope>()), StatusIs(ExitCode::kUsage, HasSubstr("level is 'O7'")));
  EXPECT_THAT(optimizer->ApplyGradients(main, startup, {}), StatusIs(ExitCode::kUsage, HasSubstr("level is 'O7'")));
}

// x [4, 8] -> fc 8, relu -> fc 3 -> mean of the cross entropy.
struct Net {
  ProgramBuilder b;
  Value hidden, loss;
  Net() {
    const Value x = b.Feed("x", DType::kF32, {4, 8});
    hidden = b.FullyConnected(x, 8, {.act = "relu"});
    loss = b.Mean(b.SoftmaxWithCrossEntropy(b.FullyConnected(hidden, 3), b.Feed("y", DType::kI64, {4, 1})));
  }
};

std::vector<const Op*> Find(const Program& program, const std::string& type) {
  std::vector<const Op*> out;
  ForEachOp(program, [&](const Op& op) {
    if (op.type() == type) out.push_back(&op);
  });
  return out;
}

TEST(DecorateTest, OneCheckForAllAndEveryUpdateSeesIt) {
  for (const std::string level : {"O1", "O2"}) {
    Net net;
    const auto optimizer = Decorate(Momentum({.lr = 0.01}), {.level = level});
    ASSERT_OK(optimizer->Minimize(net.b, net.loss));
    const absl::StatusOr<TrainingProgram> built = net.b.Build();
    ASSERT_OK(built);
    const std::vector<const Op*> checks = Find(built->main, "check_finite_and_unscale");
    ASSERT_EQ(checks.size(), 1u);
    EXPECT_EQ(checks[0]->inputs(checks[0]->def().InputSlot("X")).size(), 4u);
    const std::vector<const Op*> updates = Find(built->main, "momentum");
    ASSERT_EQ(updates.size(), 4u);
    for (const Op* update : updates) {
      EXPECT_EQ(update->input("SkipUpdate"), checks[0]->output("FoundInfinite"));
      EXPECT_EQ(update->input("MasterParam") != nullptr, IsLowPrecision(update->input("Param")->type.dtype));
    }
    EXPECT_EQ(optimizer->rewrite().low_params.empty(), level == "O1");
    EXPECT_EQ(*optimizer->get_loss_scaling(), "loss_scaling_0");
    EXPECT_NE(built->startup.main().FindVar("loss_scaling_0"), nullptr);
    EXPECT_NE(built->main.main().FindVar(*optimizer->get_scaled_loss()), nullptr);
  }
}

// Gradients that are widened on the way back: those casts belong to the optimizer's part, which nothing of the backward part follows.
TEST(DecorateTest, TheOptimizersPartComesLast) {
  for (const std::string level : {"O1", "O2"}) {
    Net net;
    ASSERT_OK(Decorate(Sgd(), {.level = level})->Minimize(net.b, net.loss));
    bool began = false;
    for (const std::unique_ptr<Op>& op : net.b.program().main().ops()) {
      const bool optimizes = (RoleOf(*op) & kRoleOptimize) != 0;
      EXPECT_TRUE(optimizes || !began) << level << ": " << op->type();
      began = began || optimizes;
    }
    EXPECT_TRUE(began);
  }
}

TEST(DecorateTest, WithoutScalingThereAreNoSuchOps) {
  Net net;
  ASSERT_OK(Decorate(Sgd(), {.level = "O2", .dtype = DType::kBF16})->Minimize(net.b, net.loss));
  EXPECT_TRUE(Find(net.b.program(), "check_finite_and_unscale").empty());
  ASSERT_EQ(Find(net.b.program(), "sgd").size(), 4u);
  EXPECT_EQ(Find(net.b.program(), "sgd")[0]->input("SkipUpdate"), nullptr);
}

TEST(DecorateTest, AFixedScaleStillSkips) {
  Net net;
  ASSERT_OK(Decorate(Sgd(), {.init_loss_scaling = 128, .use_dynamic_loss_scaling = false, .level = "O2"})->Minimize(net.b, net.loss));
  EXPECT_TRUE(Find(net.b.program(), "update_loss_scaling").empty());
  for (const Op* update : Find(net.b.program(), "sgd")) EXPECT_NE(update->input("SkipUpdate"), nullptr);
}

// By default, but not as Paddle does it; without a scale there is nothing to lose.
TEST(DecorateTest, MasterGradientsAreUnscaledInFp32) {
  const auto gradients = [](const DecorateOptions& options) {
    Net net;
    EXPECT_OK(Decorate(AdamW(), options)->Minimize(net.b, net.loss));
    std::set<DType> types;
    for (const Op* update : Find(net.b.program(), "adamw")) types.insert(update->input("Grad")->type.dtype);
    return types;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(gradients({.level = "O2"}), ElementsAre(DType::kF32));
  EXPECT_THAT(gradients({.level = "O2", .master_grad = true, .compat = "paddle-2.6"}), ElementsAre(DType::kF32));
  EXPECT_THAT(gradients({.level = "O2", .master_grad = false}), ElementsAre(DType::kF16));
  EXPECT_THAT(gradients({.level = "O2", .compat = "paddle-2.6"}), ElementsAre(DType::kF16));
  EXPECT_THAT(gradients({.level = "O2", .dtype = DType::kBF16}), ElementsAre(DType::kBF16));
}

// Two losses: the second one reaches the first layer, too.
struct TwoLosses : Net {
  Value other;
  TwoLosses() { other = b.Mean(b.FullyConnected(hidden, 2)); }
};

TEST(DecorateTest, LossesHaveScalesOfTheirOwnAndShareTheFateOfWhatTheyShare) {
  TwoLosses net;
  const auto optimizer = Decorate(Momentum(), {.level = "O1"});
  absl::StatusOr<std::vector<VarGradient>> first = optimizer->Backward(net.b.program(), net.b.startup(), *net.loss.var);
  ASSERT_OK(first);
  const absl::StatusOr<std::vector<VarGradient>> second = optimizer->Backward(net.b.program(), net.b.startup(), *net.other.var);
  ASSERT_OK(second);
  first->insert(first->end(), second->begin(), second->end());
  ASSERT_OK(optimizer->ApplyGradients(net.b.program(), net.b.startup(), *first));
  ASSERT_OK(net.b.Build());
  const std::vector<const Op*> checks = Find(net.b.program(), "check_finite_and_unscale");
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_NE(checks[0]->input("Scale"), checks[1]->input("Scale"));
  std::map<std::string, const Var*> flag;
  for (const Op* update : Find(net.b.program(), "momentum")) flag[update->input("Param")->name()] = update->input("SkipUpdate");
  ASSERT_EQ(flag.size(), 6u);
  EXPECT_EQ(flag["fc_1.w_0"], checks[0]->output("FoundInfinite"));
  EXPECT_EQ(flag["fc_2.w_0"], checks[1]->output("FoundInfinite"));
  ASSERT_EQ(Find(net.b.program(), "reduce_any").size(), 1u);
  EXPECT_EQ(flag["fc_0.w_0"], Find(net.b.program(), "reduce_any")[0]->output("Out"));
}

TEST(DecorateTest, TwoOptimizersOfOneProgram) {
  TwoLosses net;
  ASSERT_OK(Decorate(Momentum(), {.level = "O1"})->Minimize(net.b, net.loss));
  const auto other = Decorate(Sgd(), {.level = "O1"});
  ASSERT_OK(other->Minimize(net.b, net.other, {.wanted = {"fc_2.w_0", "fc_2.b_0"}, .no_grad = {}}));
  ASSERT_OK(net.b.Build());
  EXPECT_EQ(*other->get_loss_scaling(), "loss_scaling_1");
  EXPECT_NE(Find(net.b.program(), "sgd")[0]->input("SkipUpdate"), Find(net.b.program(), "momentum")[0]->input("SkipUpdate"));
  // No gradient is computed by a parameter that has moved.
  bool updated = false;
  for (const std::unique_ptr<Op>& op : net.b.program().main().ops()) {
    updated = updated || op->output("ParamOut") != nullptr;
    EXPECT_FALSE(updated && op->GetInt("op_role") == 1) << Describe(*op);
  }
}

TEST(DecorateTest, TwoOptimizersOfOneParameterAreRefused) {
  TwoLosses net;
  ASSERT_OK(Decorate(Momentum(), {.level = "O1"})->Minimize(net.b, net.loss));
  EXPECT_THAT(Decorate(Sgd(), {.level = "O1"})->Minimize(net.b, net.other),
              StatusIs(ExitCode::kUsage, AllOf(HasSubstr("updates the parameter 'fc_0.w_0' already"), HasSubstr("need one optimizer"))));
}

TEST(DecorateTest, RegionsAndFunctionsReachTheProgram) {
  ProgramBuilder b;
  const Value x = b.Feed("x", DType::kF32, {4, 8});
  Value h;
  {
    const Scope scope(b, "O0");
    h = b.FullyConnected(x, 8);
    const Scope inner(b, "O2");
    h = b.FullyConnected(h, 8);
  }
  const Value loss = b.Mean(h);
  ASSERT_OK(Decorate(Sgd(), {.level = "O1"})->Minimize(b, loss));
  std::vector<DType> types;
  for (const Op* op : Find(b.program(), "mul")) types.push_back(op->output(0)->type.dtype);
  for (const Op* op : Find(b.program(), "matmul_v2")) types.push_back(op->output(0)->type.dtype);
  EXPECT_THAT(types, ::testing::ElementsAre(DType::kF32, DType::kF16));
}

TEST(DecorateTest, ARegionNeedsALevel) {
  ProgramBuilder b;
  { const Scope scope(b, "O5"); }
  EXPECT_THAT(b.status(), StatusIs(ExitCode::kUsage, HasSubstr("level is 'O5'")));
}

TEST(DecorateTest, TheLossIsAScalar) {
  Net net;
  EXPECT_THAT(Decorate(Sgd())->Minimize(net.b, net.hidden), StatusIs(ExitCode::kUsage, HasSubstr("needs one floating-point element")));
}

TEST(AmpInitTest, NeedsMinimize) {
  ::ampc::Scope scope;
  EXPECT_THAT(Decorate(Sgd())->AmpInit({}, scope), StatusIs(ExitCode::kUsage, "AmpInit: call Minimize first"));
  EXPECT_THAT(Decorate(Sgd())->get_scaled_loss(), StatusIs(ExitCode::kUsage, HasSubstr("call Minimize first")));
}

TEST(AmpInitTest, ParamsAndTestProgramBecomeLow) {
  Net net;
  net.b.Fetch(net.loss);
  Program test = net.b.CloneForTest();
  const auto optimizer = Decorate(Momentum(), {.level = "O2"});
  ASSERT_OK(optimizer->Minimize(net.b, net.loss));
  ::ampc::Scope scope;
  EXPECT_THAT(optimizer->AmpInit({}, scope), StatusIs(ExitCode::kUsage, HasSubstr("the scope has no parameter 'fc_0.w_0'")));
  for (const std::string& name : optimizer->rewrite().low_params) {
    const Var* var = net.b.program().main().FindVar(name);
    ASSERT_OK(
        scope.Add(name, DType::kF32, *HostTensor::Create(DType::kF32, std::vector<int64_t>(var->type.dims.begin(), var->type.dims.end()))));
  }
  ASSERT_OK(optimizer->AmpInit({}, scope, {.test_program = &test}));
  EXPECT_EQ(scope.Find("fc_0.w_0")->dtype, DType::kF16);
  EXPECT_EQ(test.main().FindVar("fc_0.w_0")->type.dtype, DType::kF16);
  Program& trained = net.b.program();
  EXPECT_THAT(optimizer->AmpInit({}, scope, {.test_program = &trained}),
              StatusIs(ExitCode::kUsage, HasSubstr("one cloned before Minimize")));
}

TEST(AmpInitTest, AtO1TheTestProgramIsRewrittenOnDemand) {
  Net net;
  Program test = net.b.CloneForTest();
  const auto optimizer = Decorate(Momentum(), {.level = "O1"});
  ASSERT_OK(optimizer->Minimize(net.b, net.loss));
  ::ampc::Scope scope;
  ASSERT_OK(optimizer->AmpInit({}, scope, {.test_program = &test}));
  EXPECT_TRUE(Find(test, "cast").empty());
  ASSERT_OK(optimizer->AmpInit({}, scope, {.test_program = &test, .use_fp16_test = true}));
  EXPECT_FALSE(Find(test, "cast").empty());
}

}  // namespace
}  // namespace ampc::amp
