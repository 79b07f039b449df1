// The ops that optimizers append.
#include "passes/train/optimizer.h"

#include <map>

#include "graph/base/error.h"
#include "graph/text/parser.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two params with gradients that are fed, so that the text shows only what the optimizer adds.
constexpr char kMixed[] = R"(program p version=1
block main {
  feed  w.grad : f16 [4, 2]
  feed  b.grad : f32 [2]
  feed  found : bool [1]
  param w : f16 [4, 2] trainable
  param b : f32 [2] trainable
}
)";

struct Bundle {
  Program main, startup{"startup"};

  explicit Bundle(absl::string_view text = kMixed) : main(*ParseProgram(text)) {}
  Var* var(absl::string_view name) { return main.main().FindVar(name); }
  std::vector<VarGradient> gradients() { return {{var("w"), var("w.grad")}, {var("b"), var("b.grad")}}; }
  absl::StatusOr<std::vector<ParamUpdate>> Apply(Optimizer& optimizer, bool skip = true, const ApplyOptions& options = {}) {
    return optimizer.ApplyGradients(main, startup, gradients(), skip ? var("found") : nullptr, options);
  }
  absl::StatusOr<std::vector<ParamUpdate>> Apply(Optimizer&& optimizer, bool skip = true, const ApplyOptions& options = {}) {
    return Apply(optimizer, skip, options);
  }
};

std::vector<std::string> OpsOf(const Program& program) {
  std::vector<std::string> out;
  for (const auto& op : program.main().ops()) out.push_back(PrintOp(*op));
  return out;
}

std::vector<std::string> TypesOf(const Program& program) {
  std::vector<std::string> out;
  for (const auto& op : program.main().ops()) out.push_back(op->type());
  return out;
}

std::string NamesOf(absl::Span<Var* const> vars) {
  std::string out;
  for (const Var* v : vars) absl::StrAppend(&out, out.empty() ? "" : " ", v->name());
  return out;
}

TEST(Optimizer, MomentumWithMasterWeights) {
  Bundle p;
  ASSERT_OK_AND_ASSIGN(const auto updates, p.Apply(Momentum({.lr = 0.01, .momentum = 0.9, .multi_precision = true, .weight_decay = 1e-4})));
  EXPECT_OK(Verify(p.main));
  EXPECT_OK(Verify(p.startup));
  ASSERT_EQ(updates.size(), 2u);  // by name: b, w
  EXPECT_EQ(updates[0].param, p.var("b"));
  EXPECT_EQ(updates[0].master, nullptr);
  EXPECT_EQ(updates[1].master, p.var("w_fp32_master_0"));
  const Op& op = *updates[1].op;
  EXPECT_EQ(NamesOf(op.inputs()), "w w.grad learning_rate_0 w_fp32_master_0 found w_fp32_master_0_velocity_0");
  EXPECT_EQ(NamesOf(op.outputs()), "w w_fp32_master_0 w_fp32_master_0_velocity_0");
  EXPECT_EQ(op.GetFloat("mu"), 0.9f);
  EXPECT_EQ(op.GetString("regularization_method"), "l2_decay");
  EXPECT_EQ(op.GetFloat("regularization_coeff"), 1e-4f);
  EXPECT_TRUE(op.GetBool("multi_precision"));
  EXPECT_EQ(op.GetInt("op_role"), 2);
  EXPECT_FALSE(updates[0].op->GetBool("multi_precision"));
  EXPECT_EQ(NamesOf(updates[0].op->inputs()), "b b.grad learning_rate_0 found b_velocity_0");
  EXPECT_EQ(p.var("w_fp32_master_0_velocity_0")->type, TensorType(DType::kF32, {4, 2}));
  for (const Var* state : {p.var("learning_rate_0"), p.var("w_fp32_master_0"), p.var("b_velocity_0")}) {
    EXPECT_EQ(state->kind, VarKind::kState);
    EXPECT_TRUE(state->stop_gradient);
    EXPECT_NE(p.startup.main().FindVar(state->name()), nullptr);
  }
}

// The master takes the unrounded value: the parameter of the startup program is f32.
TEST(Optimizer, StartupFillsStates) {
  Bundle p;
  ASSERT_OK(p.Apply(Momentum({.lr = 0.5, .multi_precision = true})));
  EXPECT_EQ(p.startup.main().FindVar("w")->type, TensorType(DType::kF32, {4, 2}));
  std::map<std::string, std::string> filled;
  for (const auto& op : p.startup.main().ops()) filled[op->outputs()[0]->name()] = op->type();
  EXPECT_EQ(filled, (std::map<std::string, std::string>{{"learning_rate_0", "fill_constant"},
                                                        {"w_fp32_master_0", "cast"},
                                                        {"w_fp32_master_0_velocity_0", "fill_constant"},
                                                        {"b_velocity_0", "fill_constant"}}));
  EXPECT_EQ(p.startup.main().ops()[0]->GetFloat("value"), 0.5);
}

TEST(Optimizer, AdamFamilyStates) {
  for (Optimizer optimizer : {Adam({.multi_precision = true}), AdamW({.multi_precision = true}), Lamb({.multi_precision = true})}) {
    Bundle p;
    ASSERT_OK_AND_ASSIGN(const auto updates, p.Apply(optimizer));
    EXPECT_OK(Verify(p.main));
    EXPECT_OK(Verify(p.startup));
    const std::string m = "w_fp32_master_0_";
    EXPECT_EQ(NamesOf(updates[1].op->outputs()),
              "w w_fp32_master_0 " + m + "moment1_0 " + m + "moment2_0 " + m + "beta1_pow_acc_0 " + m + "beta2_pow_acc_0");
    std::map<std::string, double> values;
    for (const auto& op : p.startup.main().ops()) values[op->outputs()[0]->name()] = op->GetFloat("value");
    EXPECT_EQ(values["b_beta1_pow_acc_0"], 0.9f);
    EXPECT_EQ(values["b_beta2_pow_acc_0"], 0.999f);
    EXPECT_EQ(values["b_moment1_0"], 0);
  }
}

// Without a master weight the moments of a low parameter are f32 for all but momentum.
TEST(Optimizer, MomentsWithoutMaster) {
  Bundle a, b;
  ASSERT_OK(a.Apply(Momentum({})));
  EXPECT_EQ(a.var("w_velocity_0")->type.dtype, DType::kF16);
  EXPECT_OK(Verify(a.main));
  ASSERT_OK(b.Apply(Adam({})));
  EXPECT_EQ(b.var("w_moment1_0")->type.dtype, DType::kF32);
  EXPECT_OK(Verify(b.main));
}

TEST(Optimizer, GlobalNormOfMixedGradients) {
  Bundle p;
  ASSERT_OK_AND_ASSIGN(const auto updates, p.Apply(Sgd({.clip = GradientClip::GlobalNorm(1)})));
  EXPECT_OK(Verify(p.main));
  EXPECT_THAT(TypesOf(p.main), ElementsAre("squared_l2_norm", "squared_l2_norm", "sum", "sqrt", "fill_constant", "elementwise_max",
                                           "elementwise_div", "elementwise_mul", "cast", "elementwise_mul", "sgd", "sgd"));
  EXPECT_EQ(p.main.main().ops()[1]->outputs()[0]->type, TensorType(DType::kF32, {1}));  // of the f16 gradient
  EXPECT_EQ(updates[0].gradient->name(), "b.grad@CLIP");
  EXPECT_EQ(updates[1].gradient->type.dtype, DType::kF16);
  for (const auto& op : p.main.main().ops()) EXPECT_EQ(op->GetInt("op_role"), 2);
}

TEST(Optimizer, ClipLeavesExceptionsAlone) {
  for (const GradientClip& clip : {GradientClip::GlobalNorm(1), GradientClip::Norm(1), GradientClip::Value(-1, 1)}) {
    Bundle p;
    ASSERT_OK_AND_ASSIGN(const auto updates, p.Apply(Sgd({.clip = clip.Except({"w"})})));
    EXPECT_EQ(updates[1].gradient, p.var("w.grad"));
    EXPECT_NE(updates[0].gradient, p.var("b.grad"));
    EXPECT_OK(Verify(p.main));
  }
  Bundle none;
  ASSERT_OK(none.Apply(Sgd({.clip = GradientClip::GlobalNorm(1).Except({"w", "b"})})));
  EXPECT_THAT(TypesOf(none.main), ElementsAre("sgd", "sgd"));
}

TEST(Optimizer, DecayAsOps) {
  Bundle p;
  ASSERT_OK_AND_ASSIGN(const auto updates, p.Apply(Sgd({.weight_decay = 0.5, .decay = ParamFilter({"w"})})));
  EXPECT_OK(Verify(p.main));
  EXPECT_THAT(TypesOf(p.main), ElementsAre("scale", "sum", "sgd", "sgd"));
  EXPECT_EQ(p.main.main().ops()[0]->GetFloat("scale"), 0.5);
  EXPECT_EQ(updates[0].gradient, p.var("b.grad"));
  EXPECT_EQ(updates[1].gradient, p.main.main().ops()[1]->outputs()[0]);
}

// An f32 gradient of a low parameter (master_grad) gets the decay of the master weight.
TEST(Optimizer, DecayOfTheMasterWeight) {
  Bundle p(R"(program p version=1
block main {
  feed  w.grad : f32 [4]
  feed  b.grad : f32 [4]
  feed  found : bool [1]
  param w : f16 [4] trainable
  param b : f32 [4] trainable
}
)");
  ASSERT_OK(p.Apply(Adam({.multi_precision = true, .weight_decay = 0.5, .decay = ParamFilter::Except({"b"})})));
  EXPECT_OK(Verify(p.main));
  EXPECT_THAT(TypesOf(p.main), ElementsAre("scale", "sum", "adam", "adam"));
  EXPECT_EQ(p.main.main().ops()[0]->inputs()[0], p.var("w_fp32_master_0"));
}

TEST(Optimizer, AdamWDecaysByFilterAndRatio) {
  Bundle p;
  ASSERT_OK_AND_ASSIGN(const auto updates, p.Apply(AdamW({.weight_decay = 0.1,
                                                          .decay = ParamFilter([](absl::string_view name) { return name != "b"; }),
                                                          .lr_ratio = [](absl::string_view name) { return name == "w" ? 0.5 : 1.0; }})));
  EXPECT_FALSE(updates[0].op->GetBool("with_decay"));
  EXPECT_TRUE(updates[1].op->GetBool("with_decay"));
  EXPECT_EQ(updates[1].op->GetFloat("coeff"), 0.1f);
  EXPECT_EQ(updates[1].op->GetFloat("lr_ratio"), 0.5);
  Bundle lamb;
  ASSERT_OK_AND_ASSIGN(const auto of_lamb, lamb.Apply(Lamb({.weight_decay = 0.1, .decay = ParamFilter::Except({"b"})})));
  EXPECT_EQ(of_lamb[0].op->GetFloat("weight_decay"), 0);
  EXPECT_EQ(of_lamb[1].op->GetFloat("weight_decay"), 0.1f);
}

TEST(Optimizer, ScheduleStepsLastAndOnce) {
  Bundle p;
  Optimizer sgd = Sgd({.lr = LearningRate::Piecewise({10}, {0.5, 0.25})});
  ASSERT_OK(p.Apply(sgd));
  EXPECT_THAT(TypesOf(p.main), ElementsAre("sgd", "sgd", "lr_schedule"));
  EXPECT_EQ(NamesOf(p.main.main().ops()[2]->inputs()), "learning_rate_0 lr_step_0 found");
  EXPECT_EQ(NamesOf(p.main.main().ops()[2]->outputs()), "learning_rate_0 lr_step_0");
  EXPECT_EQ(p.startup.main().ops()[0]->GetFloat("value"), 0.5);
  EXPECT_OK(Verify(p.main));
  EXPECT_OK(Verify(p.startup));
  ASSERT_OK(p.Apply(sgd));  // a second loss
  EXPECT_EQ(p.var("learning_rate_1"), nullptr);
  EXPECT_EQ(sgd.learning_rate_name(), "learning_rate_0");
  EXPECT_THAT(TypesOf(p.main), ElementsAre("sgd", "sgd", "lr_schedule", "sgd", "sgd"));
}

TEST(Optimizer, AppliedTwiceKeepsItsStatesAnotherHasItsOwn) {
  Bundle p;
  Optimizer one = Momentum({.multi_precision = true});
  Optimizer two = Momentum({.multi_precision = true});
  ASSERT_OK_AND_ASSIGN(const auto first, p.Apply(one));
  ASSERT_OK_AND_ASSIGN(const auto second, p.Apply(one));
  ASSERT_OK_AND_ASSIGN(const auto other, p.Apply(two));
  EXPECT_EQ(NamesOf(first[1].op->outputs()), NamesOf(second[1].op->outputs()));
  EXPECT_EQ(NamesOf(other[1].op->outputs()), "w w_fp32_master_0 w_fp32_master_0_velocity_1");
  EXPECT_NE(p.var("learning_rate_1"), nullptr);
  EXPECT_OK(Verify(p.main));
  EXPECT_OK(Verify(p.startup));
}

TEST(Optimizer, SkipUpdateByGeneration) {
  using enum OptimizerStyle;
  const auto skip = [](Optimizer optimizer, OptimizerStyle style, bool everywhere) {
    Bundle p;
    const auto updates = p.Apply(optimizer, true, {.style = style, .skip_everywhere = everywhere});
    if (!updates.ok()) return std::string(updates.status().message());
    const Var* var = updates->front().op->input("SkipUpdate");
    return var == nullptr ? std::string("none") : var->name();
  };
  for (Optimizer o : {Sgd(), Momentum(), Adam(), AdamW(), Lamb()}) {
    SCOPED_TRACE(o.type());
    const bool adam = o.type() == "adam", adamw = o.type() == "adamw", lamb = o.type() == "lamb";
    EXPECT_EQ(skip(o, kOwn, false), "found");
    EXPECT_EQ(skip(o, kPaddle20, false), "none");
    EXPECT_EQ(skip(o, kPaddle20, true), "found");
    EXPECT_EQ(skip(o, kPaddle24, false), adamw ? "memcpy_0.tmp_0" : lamb ? "found" : "none");
    EXPECT_EQ(skip(o, kPaddle26, false), adam || adamw ? "memcpy_0.tmp_0" : lamb ? "found" : "none");
    EXPECT_EQ(skip(o, kPaddle26, true), adam || adamw ? "memcpy_0.tmp_0" : "found");
  }
}

TEST(Optimizer, StylesOfClip) {
  using enum OptimizerStyle;
  const auto types = [](OptimizerStyle style) {
    Bundle p;
    EXPECT_OK(p.Apply(Sgd({.clip = GradientClip::GlobalNorm(1)}), false, {.style = style}));
    EXPECT_OK(Verify(p.main));
    EXPECT_EQ(p.main.main().ops().back()->input("Grad")->exported(), style == kPaddle20 ? "elementwise_mul_0.tmp_0.1" : "w.grad");
    EXPECT_EQ(p.main.main().ops()[0]->attr("op_role_var") != nullptr, true);
    return TypesOf(p.main);
  };
  EXPECT_THAT(types(kPaddle26),
              ElementsAre("squared_l2_norm", "squared_l2_norm", "sum", "cast", "sum", "sum", "sqrt", "fill_constant", "elementwise_max",
                          "elementwise_div", "elementwise_mul", "cast", "elementwise_mul", "sgd", "sgd"));
  EXPECT_THAT(types(kPaddle24),
              ElementsAre("squared_l2_norm", "square", "reduce_sum", "sum", "cast", "sum", "sum", "sqrt", "fill_constant",
                          "elementwise_max", "elementwise_div", "elementwise_mul", "cast", "elementwise_mul", "sgd", "sgd"));
  EXPECT_THAT(types(kPaddle20),
              ElementsAre("square", "reduce_sum", "square", "reduce_sum", "sum", "cast", "sum", "sum", "sqrt", "fill_constant",
                          "elementwise_max", "elementwise_div", "elementwise_mul", "cast", "elementwise_mul", "sgd", "sgd"));
}

TEST(Optimizer, AdamWOfPaddle20IsMadeOfOps) {
  Bundle p;
  ASSERT_OK_AND_ASSIGN(const auto updates,
                       p.Apply(AdamW({.lr = 0.01, .multi_precision = true}), true, {.style = OptimizerStyle::kPaddle20}));
  EXPECT_OK(Verify(p.main));
  EXPECT_THAT(TypesOf(p.main), ElementsAre("scale", "assign", "adam", "scale", "assign", "adam"));
  EXPECT_EQ(p.main.main().ops()[3]->GetFloat("scale"), static_cast<float>(1 - 0.01 * 0.01));
  EXPECT_EQ(p.main.main().ops()[4]->outputs()[0], p.var("w_fp32_master_0"));
  Bundle scheduled;
  ASSERT_OK(scheduled.Apply(AdamW({.lr = LearningRate::Cosine(0.1, 10)}), true, {.style = OptimizerStyle::kPaddle20}));
  EXPECT_OK(Verify(scheduled.main));
  Bundle sgd;
  ASSERT_OK_AND_ASSIGN(const auto of_sgd, sgd.Apply(Sgd({.multi_precision = true}), true, {.style = OptimizerStyle::kPaddle20}));
  EXPECT_EQ(of_sgd[1].master, nullptr);
}

TEST(Optimizer, NothingToUpdate) {
  Bundle p;
  Optimizer sgd = Sgd();
  ASSERT_OK_AND_ASSIGN(const auto updates, sgd.ApplyGradients(p.main, p.startup, {{p.var("w"), nullptr}}));
  EXPECT_THAT(updates, IsEmpty());
}

TEST(Optimizer, Errors) {
  Bundle p;
  const auto apply = [&](Optimizer optimizer, std::vector<VarGradient> gradients, Var* found = nullptr) {
    return optimizer.ApplyGradients(p.main, p.startup, gradients, found);
  };
  const VarGradient good{p.var("b"), p.var("b.grad")};
  EXPECT_THAT(apply(Sgd(), {{p.var("found"), p.var("b.grad")}}),
              StatusIs(ExitCode::kUsage, "sgd: 'found' is a feed, needs a param to update"));
  EXPECT_THAT(apply(Sgd(), {{p.var("b"), p.var("w.grad")}}),
              StatusIs(ExitCode::kUsage, "sgd: the gradient 'w.grad' of param 'b' is f16, needs f32"));
  EXPECT_THAT(apply(Sgd(), {{p.var("w"), p.var("found")}}), StatusIs(ExitCode::kUsage, HasSubstr("is bool, needs f16 or f32")));
  EXPECT_THAT(apply(Sgd(), {good, good}), StatusIs(ExitCode::kUsage, "sgd: param 'b' has two gradients, needs their sum"));
  EXPECT_THAT(apply(Sgd(), {good}, p.var("w.grad")), StatusIs(ExitCode::kUsage, "sgd: 'w.grad' is f16 [4, 2], needs one bool"));
  EXPECT_THAT(apply(Sgd({.lr = LearningRate::Piecewise({0}, {1, 2})}), {good}),
              StatusIs(ExitCode::kUsage, HasSubstr("boundary 0 is not positive")));
  EXPECT_THAT(apply(Sgd({.weight_decay = -1}), {good}),
              StatusIs(ExitCode::kUsage, "sgd: weight decay is -1, needs 0 or more and a finite number"));
  EXPECT_THAT(apply(Adam({.beta1 = 1}), {good}), StatusIs(ExitCode::kUsage, "adam: beta1 is 1, needs 0 or more and less than 1"));
  EXPECT_THAT(apply(Momentum({.momentum = -0.5}), {good}),
              StatusIs(ExitCode::kUsage, HasSubstr("momentum: momentum is -0.5, needs 0 or more")));
  EXPECT_THAT(apply(Sgd({.clip = GradientClip::GlobalNorm(0)}), {good}),
              StatusIs(ExitCode::kUsage, "gradient clip: found norm 0, needs a finite one above 0"));
  EXPECT_THAT(apply(Sgd({.clip = GradientClip::Value(1, -1)}), {good}),
              StatusIs(ExitCode::kUsage, "gradient clip: found values from 1 to -1, needs finite ones in rising order"));
}

TEST(Optimizer, FromName) {
  for (const char* name : {"sgd", "Momentum", "ADAM", "AdamW", "lamb"}) {
    ASSERT_OK_AND_ASSIGN(Optimizer optimizer, OptimizerFromName(name, {.lr = 0.5, .multi_precision = true}));
    EXPECT_EQ(optimizer.learning_rate().rule().base, 0.5);
    EXPECT_TRUE(optimizer.multi_precision());
    Bundle p;
    EXPECT_OK(p.Apply(optimizer));
  }
  EXPECT_THAT(OptimizerFromName("rmsprop"),
              StatusIs(ExitCode::kUsage, "unknown optimizer 'rmsprop', needs one of sgd, momentum, adam, adamw, lamb"));
  EXPECT_THAT(OptimizerFromName("adamv"), StatusIs(ExitCode::kUsage, HasSubstr("did you mean 'adam")));
}

TEST(Optimizer, SameProgramEachTime) {
  const auto text = [] {
    Bundle p;
    EXPECT_OK(p.Apply(Lamb({.lr = LearningRate::Cosine(1, 5), .multi_precision = true, .clip = GradientClip::GlobalNorm(2)})));
    return std::make_pair(OpsOf(p.main), OpsOf(p.startup));
  };
  EXPECT_EQ(text(), text());
}

}  // namespace
}  // namespace ampc::testing
