// Plans: what is written is what is read, and a plan finds its ops in a model with other names.
#include "passes/amp/decide/plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/bare_program.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Layers that are alike, and an end that is not.
std::string Layers(int layers, absl::string_view prefix) {
  std::string text = "feed x : f32 [4, 8]\nparam w : f32 [8, 8]\n";
  std::string last = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string product = absl::StrCat(prefix, "p", i), act = absl::StrCat(prefix, "a", i);
    absl::StrAppend(&text, product, " = matmul_v2(", last, ", w) : f32 [4, 8]\n", act, " = relu(", product, ") : f32 [4, 8]\n");
    last = act;
  }
  return absl::StrCat(text, prefix, "y = exp(", last, ") : f32 [4, 8]\nfetch ", prefix, "y\n");
}

std::string TextOfPlan(Program& program) {
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  EXPECT_OK(RunPipeline(*Pipeline::Parse("protect,amp-decide"), {}, ctx, program));
  return PlanJson(PlanOf(program, *ctx.Find<AmpDecision>()), [](JsonWriter& json) { json.BeginObject().EndObject(); });
}

Plan Parsed(absl::string_view text) {
  absl::StatusOr<Plan> plan = ParsePlan(text);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

// Each op with the value of its entry, "-" without one.
std::string Matched(const Plan& plan, const Program& program, const PlannedOps& planned) {
  std::string out;
  ForEachOp(program, [&](const Op& op) {
    const int entry = planned.entry[op.id()];
    absl::StrAppend(&out, op.outputs()[0]->name(), "=", entry < 0 ? "-" : plan.entries[entry].value, " ");
  });
  return out;
}

TEST(Plan, IsOneLineForEachOp) {
  Program program = testing::BareProgram(Layers(1, ""));
  const std::string text = TextOfPlan(program);
  EXPECT_THAT(text, HasSubstr(R"(    {"op": "relu", "value": "a0", "key": ")"));
  const Plan plan = Parsed(text);
  EXPECT_FALSE(plan.edited);
  ASSERT_EQ(plan.entries.size(), 3u);
  EXPECT_TRUE(plan.entries[0].low);
  EXPECT_FALSE(plan.entries[2].low);
  EXPECT_EQ(plan.entries[2].rule, "deny");
}

TEST(Plan, KnowsThatADecisionWasEdited) {
  Program program = testing::BareProgram(Layers(1, ""));
  const std::string text = TextOfPlan(program);
  EXPECT_TRUE(
      Parsed(absl::StrReplaceAll(text, {{R"("precision": "low", "rule": "allow")", R"("precision": "fp32", "rule": "allow")"}})).edited);
  EXPECT_FALSE(Parsed(absl::StrReplaceAll(text, {{R"("rule": "allow")", R"("rule": "mine")"}})).edited);
}

TEST(Plan, FindsItsOpsByNameAndStructure) {
  Program program = testing::BareProgram(Layers(12, ""));
  const Plan plan = Parsed(TextOfPlan(program));
  const PlannedOps planned = MatchPlan(plan, program);
  EXPECT_THAT(planned.misfits, IsEmpty());
  ForEachOp(program, [&](const Op& op) { EXPECT_EQ(plan.entries[planned.entry[op.id()]].value, op.outputs()[0]->name()); });
}

TEST(Plan, FindsItsOpsUnderOtherNames) {
  Program program = testing::BareProgram(Layers(12, ""));
  const Plan plan = Parsed(TextOfPlan(program));
  const Program renamed = testing::BareProgram(Layers(12, "other_"));
  const PlannedOps planned = MatchPlan(plan, renamed);
  EXPECT_THAT(planned.misfits, IsEmpty());
  ForEachOp(renamed,
            [&](const Op& op) { EXPECT_EQ(absl::StrCat("other_", plan.entries[planned.entry[op.id()]].value), op.outputs()[0]->name()); });
}

TEST(Plan, ListsTheEntriesThatFitNoOp) {
  Program program = testing::BareProgram(Layers(12, ""));
  const Plan plan = Parsed(TextOfPlan(program));
  const Program longer = testing::BareProgram(Layers(14, "other_"));
  const PlannedOps planned = MatchPlan(plan, longer);
  EXPECT_THAT(planned.misfits, ::testing::Each(::testing::ContainsRegex("fits no op: the model has [0-9]+ like it, the plan [0-9]+")));
  EXPECT_FALSE(planned.misfits.empty());
  EXPECT_THAT(Matched(plan, longer, planned), HasSubstr("other_p0=p0 "));
  const Program without = testing::BareProgram("feed x : f32 [4]\ny = sigmoid(x) : f32 [4]\nfetch y\n");
  EXPECT_THAT(MatchPlan(plan, without).misfits, ::testing::SizeIs(25));
  EXPECT_THAT(MatchPlan(plan, without).misfits[24], "plan: exp 'y' (fp32) fits no op: the model has none like it");
}

TEST(Plan, HasTheSameKeysForAConvertedProgram) {
  Program program = testing::BareProgram(Layers(2, ""));
  const Plan plan = Parsed(TextOfPlan(program));
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  ASSERT_OK(RunPipeline(*Pipeline::Parse("protect,amp-decide,cast-model-to-fp16,cast-parameters-to-fp16"), {}, ctx, program));
  EXPECT_THAT(MatchPlan(plan, program).misfits, IsEmpty());
}

TEST(Plan, SaysWhatIsWrongInAFile) {
  const std::pair<const char*, const char*> bad[] = {
      {"{}", "'ampc-plan' needs to be 1"},
      {R"({"ampc-plan": 2, "ops": []})", "'ampc-plan' needs to be 1"},
      {R"({"ampc-plan": 1, "digest": ""})", "'ops' needs to be an array"},
      {R"({"ampc-plan": 1, "ops": []})", "'measured' needs to be true or false"},
      {R"({"ampc-plan": 1, "measured": false, "ops": []})", "'digest' needs to be a string"},
      {R"({"ampc-plan": 1, "measured": true, "digest": "", "ops": [1]})", "op 0: it needs to be an object"},
      {R"({"ampc-plan": 1, "measured": true, "digest": "", "ops": [)"
       R"({"op": "relu", "value": "y", "key": "1", "precision": "low", "rule": "", "reason": ""}]})",
       "op 0: 'key' is '1', needs 16 hexadecimal digits"},
      {R"({"ampc-plan": 1, "measured": true, "digest": "", "ops": [)"
       R"({"op": "r", "value": "y", "key": "0123456789abcdef", "precision": "half", "rule": "", "reason": ""}]})",
       "op 0: 'precision' is 'half', needs low or fp32"}};
  for (const auto& [text, message] : bad) EXPECT_EQ(ParsePlan(text).status().message(), message) << text;
}

}  // namespace
}  // namespace ampc
