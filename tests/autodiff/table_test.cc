// The table of gradients against the cases: table_test FILE.case...   Those of tests/ops show the types that gradients have, those of this
// directory their values.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/op_registry.h"
#include "graph/ops/gradients.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "passes/autodiff/append_backward.h"
#include "tests/autodiff/gradient_case.h"
#include "tests/testlib/case_file.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

std::vector<std::string>* files = new std::vector<std::string>;

// The texts of the files in `directory`.
std::vector<std::string> Texts(absl::string_view directory) {
  std::vector<std::string> texts;
  for (const std::string& path : *files) {
    if (!absl::StrContains(path, directory)) continue;
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_TRUE(in) << path;
    texts.push_back(text.str());
  }
  EXPECT_FALSE(texts.empty()) << directory;
  return texts;
}

// Appends the gradients of the program's float fetches; false where there are none to compute.
bool AppendAll(Program& program, const std::vector<std::string>& fixed = {}) {
  BackwardOptions options;
  for (const std::unique_ptr<Var>& var : program.main().vars()) {
    const bool given = var->kind == VarKind::kFeed || var->kind == VarKind::kParam;
    const bool asked = std::find(fixed.begin(), fixed.end(), var->name()) == fixed.end();
    if (given && asked && var->type.IsFloat()) options.wanted.push_back(var->name());
  }
  std::vector<VarGradient> seeds;
  for (Var* result : std::vector<Var*>(program.fetches)) {
    if (!result->type.IsFloat() || result->kind != VarKind::kTemp) continue;
    Var* seed = program.main().AddVar(program.main().UniqueName(absl::StrCat(result->name(), ".seed")), VarKind::kFeed, result->type);
    program.feeds.push_back(seed);
    seeds.push_back({result, seed});
  }
  if (seeds.empty() || options.wanted.empty()) return false;
  const absl::StatusOr<std::vector<VarGradient>> gradients = AppendGradients(program, seeds, options);
  if (!gradients.ok()) {
    EXPECT_EQ(ExitCodeOf(gradients.status()), ExitCode::kUnsupported) << gradients.status();
    return false;
  }
  for (const VarGradient& g : *gradients) {
    if (g.gradient == nullptr) continue;
    EXPECT_EQ(g.gradient->type, g.var->type) << g.var->name();
    program.fetches.push_back(g.gradient);
  }
  return true;
}

// Verification infers the types of the gradient ops' results again: they are those of the operands.
TEST(GradientTable, GradientsHaveTheTypesOfOperands) {
  std::set<std::string> seen;
  for (const std::string& text : Texts("tests/ops/")) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Case> cases, ParseCases(text));
    for (const Case& c : cases) {
      if (c.expect != Expect::kOut) continue;
      SCOPED_TRACE(c.title);
      absl::StatusOr<Program> program = ParseTyped(c.in);
      if (!program.ok() || !AppendAll(*program)) continue;
      EXPECT_OK(Verify(*program)) << PrintProgram(*program);
      ForEachOp(*program, [&seen](const Op& op) { seen.insert(op.type()); });
    }
  }
  for (const std::string& text : Texts("tests/autodiff/")) {
    ASSERT_OK_AND_ASSIGN(const std::vector<GradientCase> cases, ParseGradientCases(text));
    for (const GradientCase& c : cases) {
      SCOPED_TRACE(c.name);
      ASSERT_OK_AND_ASSIGN(Program program, ParseTyped(c.program));
      ASSERT_TRUE(AppendAll(program, c.fixed));
      EXPECT_OK(Verify(program)) << PrintProgram(program);
      ForEachOp(program, [&seen](const Op& op) { seen.insert(op.type()); });
    }
  }
  for (const OpDef* def : Ops().All()) {
    if (ops::ForwardOf(def->name) == nullptr) continue;
    EXPECT_TRUE(seen.contains(def->name)) << def->name;
  }
}

TEST(GradientTable, EveryGradientHasACase) {
  std::set<std::string> seen;
  for (const std::string& text : Texts("tests/autodiff/")) {
    ASSERT_OK_AND_ASSIGN(const std::vector<GradientCase> cases, ParseGradientCases(text));
    for (const GradientCase& c : cases) {
      ASSERT_OK_AND_ASSIGN(const Program program, ParseTyped(c.program));
      ForEachOp(program, [&seen](const Op& op) { seen.insert(op.type()); });
    }
  }
  for (const OpDef* def : Ops().All()) {
    if (absl::StartsWith(def->gradient, "none: ")) continue;
    EXPECT_TRUE(seen.contains(def->name)) << def->name << " has no case in tests/autodiff";
  }
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ampc::testing::files->assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
