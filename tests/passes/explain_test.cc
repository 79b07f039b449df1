// Why ops have their types: chains of causes, and casts.
#include "passes/amp/report/explain.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "passes/amp/protect/rules.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/case_file.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;

// A decided program and the causes of its decision.
struct Decided {
  Program program;
  std::shared_ptr<const AmpDecision> decision;
  std::unique_ptr<Causes> causes;
};

void Decide(absl::string_view text, const char* passes, Decided* out) {
  absl::StatusOr<Program> program = testing::ParseBare(text);
  ASSERT_TRUE(program.ok()) << program.status().message();
  out->program = *std::move(program);
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  ASSERT_OK(RunPipeline(*Pipeline::Parse(passes), {}, ctx, out->program));
  out->decision = ctx.Take<AmpDecision>();
  out->causes = std::make_unique<Causes>(out->program, *out->decision, OnTiny::kSubnormal);
}

const Op& OpOf(const Program& program, absl::string_view value) {
  const Op* found = nullptr;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.outputs()) found = var->name() == value ? &op : found;
  });
  return *found;
}

// "log reads 't': the rule's start"
std::string ChainText(const Decided& d, absl::string_view value) {
  const std::vector<CauseStep> chain = d.causes->ChainOf(OpOf(d.program, value), 100);
  return absl::StrJoin(chain, "\n", [](std::string* out, const CauseStep& step) {
    absl::StrAppend(out, step.op->type(), step.reads ? " reads " : " makes ", step.through->name(), step.starts.empty() ? "" : ": ",
                    step.starts);
  });
}

constexpr char kLog[] = R"(
feed  x : f32 [4, 8]
param w : f32 [8, 8]
s = matmul_v2(x, w) : f32 [4, 8]
t = abs(s) : f32 [4, 8]
l = log(t) : f32 [4, 8]
fetch l
)";

TEST(Causes, LeadFromAnOpToTheLogarithmBehindIt) {
  Decided d;
  Decide(kLog, "protect,amp-decide", &d);
  EXPECT_EQ(ChainText(d, "s"),
            "abs reads s\n"
            "log reads t: the operand of a logarithm that may be small; known of 't': [0, inf]");
  EXPECT_EQ(ChainText(d, "l"), "");
}

TEST(Causes, LeadFromAnOpToTheConstantBeforeIt) {
  Decided d;
  Decide(R"(
feed  x : f32 [4, 8]
const big : f32 [1] = [1e6]
a = elementwise_mul(x, big) : f32 [4, 8]
b = reshape2(a) shape=[8, 4] : f32 [8, 4]
c = elementwise_add(b, b) : f32 [8, 4]
fetch c
)",
         "protect,amp-decide", &d);
  EXPECT_EQ(d.decision->For(OpOf(d.program, "c")).rule, "protect.range");
  EXPECT_THAT(
      ChainText(d, "c"),
      HasSubstr("elementwise_mul makes a: a constant, a power or bounds beyond the range; known of 'big': [1e+06, 1e+06], loses 1e+06"));
}

TEST(Causes, GoFromOneThatFollowsToTheReasonOfWhatItFollows) {
  Decided d;
  Decide(R"(
feed  x : f32 [4, 8]
e = exp(x) : f32 [4, 8]
r = relu(e) : f32 [4, 8]
q = relu(r) : f32 [4, 8]
fetch q
)",
         "protect{rules=shape},amp-decide{level=O1}", &d);
  EXPECT_EQ(ChainText(d, "q"), "relu makes r\nexp makes e");
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Of the rules that travel: what a rule keeps in fp32, it found somewhere.
TEST(Causes, OfEveryOpThatARuleReachedEndWhereTheRuleStarts) {
  int chains = 0;
  for (const auto& file : std::filesystem::directory_iterator("tests/passes/protect")) {
    const absl::StatusOr<std::vector<testing::Case>> cases = testing::ParseCases(Read(file.path()));
    ASSERT_TRUE(cases.ok()) << cases.status().message();
    for (const testing::Case& c : *cases) {
      Decided d;
      Decide(c.in, "infer-types,protect,amp-decide", &d);
      if (HasFatalFailure()) return;
      ForEachOp(d.program, [&](const Op& op) {
        const Rule* rule = FindRule(d.decision->For(op).rule);
        if (rule == nullptr || (rule->direction != Direction::kReaders && rule->direction != Direction::kMakers)) return;
        const std::vector<CauseStep> chain = d.causes->ChainOf(op, 100);
        const std::string start = chain.empty() ? d.causes->StartOf(op) : chain.back().starts;
        EXPECT_NE(start, "") << file.path() << ": " << c.title << ": " << op.type() << " " << rule->id;
        chains += chain.empty() ? 0 : 1;
      });
    }
  }
  EXPECT_GT(chains, 50);
}

class ExplanationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Decide(kLog, "protect,amp-decide", &d_);
    PassContext ctx;
    ctx.support = *TargetSupport("cuda");
    Program& program = d_.program;
    ASSERT_OK(RunPipeline(*Pipeline::Parse("protect,amp-decide{include=abs},cast-model-to-fp16"), {}, ctx, program));
    d_.decision = ctx.Take<AmpDecision>();
    explanation_ = Explain(program, *d_.decision, *d_.causes);
  }

  Decided d_;
  Explanation explanation_;
};

TEST_F(ExplanationTest, TellsAnOp) {
  EXPECT_EQ(ExplainOpText(explanation_, 0),
            "op 0 (matmul_v2) -> 's' computes in fp32\n"
            "  protect.log: leads to a logarithm of small values\n"
            "  because\n"
            "    op 1 (abs) reads 's'\n"
            "    op 2 (log) reads 't': the operand of a logarithm that may be small; known of 't': [0, inf]\n"
            "  work: 76.2 % of all flops, 57.1 % of all bytes\n");
}

TEST_F(ExplanationTest, TellsACast) {
  ASSERT_EQ(explanation_.report.casts.size(), 2u);
  EXPECT_THAT(ExplainCastText(explanation_, 0), HasSubstr("  because abs computes in low precision (include: "));
  EXPECT_THAT(ExplainCastText(explanation_, 0), HasSubstr("  and op 0 (matmul_v2), which makes it, computes in fp32 (protect.log: "));
}

TEST_F(ExplanationTest, IsAnObject) {
  JsonWriter json;
  WriteExplainedOp(explanation_, 1, json);
  EXPECT_THAT(json.Take(), HasSubstr(R"("index":1,"op":"abs","value":"t","precision":"low","rule":"include")"));
}

}  // namespace
}  // namespace ampc
