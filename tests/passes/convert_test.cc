// Properties of whole conversions, over every program of the golden data.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "gtest/gtest.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/convert/options.h"

namespace ampc {
namespace {

constexpr char kData[] = "tests/golden/paddle_rewrite/";

std::vector<std::string> Inputs() {
  std::set<std::string> names;
  std::ifstream file(absl::StrCat(kData, "cases.txt"));
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.insert(std::vector<std::string>(absl::StrSplit(line, '\t'))[1]);
  }
  return {names.begin(), names.end()};
}

std::vector<ConvertOptions> Configurations() {
  std::vector<ConvertOptions> out;
  for (const char* mode : {"own", "paddle-2.0", "paddle-2.4", "paddle-2.6"}) {
    for (const char* level : {"O1", "O2"}) {
      ConvertOptions o;
      o.mode = mode;
      o.level = level;
      out.push_back(o);
    }
  }
  ConvertOptions o;
  o.dtype = DType::kBF16;
  out.push_back(o);
  o.low_io = true;
  out.push_back(o);
  o = ConvertOptions();
  o.guard = true;
  out.push_back(o);
  return out;
}

absl::Status RunOn(const Pipeline& pipeline, Program& program) {
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  PipelineOptions options;
  options.check_claims = true;
  return RunPipeline(pipeline, options, ctx, program);
}

// A program whose types are complete; fetches everything that nothing reads, where the file says nothing.
Program Load(const std::string& name) {
  LoadOptions load;
  load.program_only = true;
  absl::StatusOr<Program> program = LoadModel(absl::StrCat(kData, name, ".pdmodel"), load);
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return Program();
  EXPECT_TRUE(RunOn(Pipeline().Add("infer-types"), *program).ok());
  if (program->fetches.empty() && !program->main().ops().empty()) {
    for (Var* var : program->main().ops().back()->outputs()) {
      if (var->type.IsFloat()) program->fetches.push_back(var);
    }
  }
  return *std::move(program);
}

class Conversion : public ::testing::TestWithParam<std::string> {};

TEST_P(Conversion, IsTakenBackExactly) {
  const Program original = Load(GetParam());
  for (const ConvertOptions& options : Configurations()) {
    Program program = original.Clone();
    const std::string text = ConvertPipeline(options).ToString();
    const absl::Status converted = RunOn(ConvertPipeline(options), program);
    ASSERT_TRUE(converted.ok()) << text << ": " << converted.message();
    // Nothing became low: then a strip would take what the program itself says for a conversion.
    if (SameProgram(original, program)) continue;
    const absl::Status stripped = RunOn(StripPipeline(), program);
    ASSERT_TRUE(stripped.ok()) << text << ": " << stripped.message();
    std::string why;
    EXPECT_TRUE(SameProgram(original, program, &why)) << text << ": " << why;
  }
}

TEST_P(Conversion, ChangesNothingTheSecondTime) {
  const Program original = Load(GetParam());
  for (const ConvertOptions& options : Configurations()) {
    Program program = original.Clone();
    ASSERT_TRUE(RunOn(ConvertPipeline(options), program).ok());
    const Program once = program.Clone();
    const std::string text = ConvertPipeline(options).ToString();
    const absl::Status again = RunOn(ConvertPipeline(options), program);
    ASSERT_TRUE(again.ok()) << text << ": " << again.message();
    std::string why;
    EXPECT_TRUE(SameProgram(once, program, &why)) << text << ": " << why;
  }
}

TEST_P(Conversion, MayBeFollowedByAnother) {
  const Program original = Load(GetParam());
  for (const ConvertOptions& first : Configurations()) {
    for (const char* level : {"O1", "O2"}) {
      Program program = original.Clone();
      ASSERT_TRUE(RunOn(ConvertPipeline(first), program).ok());
      ConvertOptions second;
      second.level = level;
      second.dtype = first.dtype;
      const absl::Status again = RunOn(ConvertPipeline(second), program);
      EXPECT_TRUE(again.ok()) << ConvertPipeline(first).ToString() << ": " << again.message();
    }
  }
}

TEST_P(Conversion, KeepsTheSignatureInOwnMode) {
  const Program original = Load(GetParam());
  for (const ConvertOptions& options : Configurations()) {
    if (options.mode != "own" || options.low_io) continue;
    Program program = original.Clone();
    ASSERT_TRUE(RunOn(ConvertPipeline(options), program).ok());
    ASSERT_EQ(program.fetches.size(), original.fetches.size());
    for (size_t i = 0; i < program.fetches.size(); ++i) {
      EXPECT_EQ(program.fetches[i]->name(), original.fetches[i]->name());
      EXPECT_EQ(program.fetches[i]->type, original.fetches[i]->type);
    }
    for (size_t i = 0; i < program.feeds.size(); ++i) EXPECT_EQ(program.feeds[i]->type, original.feeds[i]->type);
  }
}

TEST_P(Conversion, CanBePlanned) {
  Program program = Load(GetParam());
  ASSERT_TRUE(RunOn(ConvertPipeline({}), program).ok());
  const absl::Status planned = RunOn(PlanPipeline(), program);
  EXPECT_TRUE(planned.ok()) << planned.message();
}

INSTANTIATE_TEST_SUITE_P(Golden, Conversion, ::testing::ValuesIn(Inputs()), [](const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(PipelineText, ParsesBack) {
  ConvertOptions options;
  options.white_list = {"softmax", "exp"};
  options.black_vars = {"x"};
  options.exclude = {"name:fc_*", "scope:/a b/", "regex:a{1,2}\\d", "name:\"quoted\""};
  options.include = {"name:z[", "type:relu & upstream:y"};
  options.guard = true;
  const std::string text = ConvertPipeline(options).ToString();
  const absl::StatusOr<Pipeline> parsed = Pipeline::Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->ToString(), text);
  const PassOptions& decide =
      std::find_if(parsed->steps().begin(), parsed->steps().end(), [](const auto& step) { return step.pass == "amp-decide"; })->options;
  EXPECT_EQ(decide.at("exclude"), "name:fc_*;scope:/a b/;regex:a{1,2}\\d;name:\"quoted\"");
}

TEST(PassList, HasNoTwinsAndSaysWhatEachDoes) {
  int listed = 0;
#define AMPC_PASS(function) ++listed;
#include "passes/all_passes.inc"
#undef AMPC_PASS
  EXPECT_EQ(Passes().All().size(), static_cast<size_t>(listed));
  for (const PassInfo* info : Passes().All()) {
    EXPECT_FALSE(info->summary.empty()) << info->name;
    for (const auto& [option, help] : info->options) EXPECT_FALSE(help.empty()) << info->name << " " << option;
  }
}

}  // namespace
}  // namespace ampc
