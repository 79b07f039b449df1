// The table of protect's rules: each has cases for all that its row says, and stands in the documents as its row says.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "passes/amp/protect/find_marks.h"
#include "tests/testlib/case_file.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr char kDocument[] = "tools/docs/protect_rules.md";

std::string Read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string Short(const Rule& rule) { return std::string(absl::StripPrefix(rule.id, kProtectPrefix)); }
// Measured ranges are a rule without an op in the program: tests/passes/ranges_test.cc.
bool HasCases(const Rule& rule) { return rule.forward != nullptr || rule.backward != nullptr || rule.direction == Direction::kCycle; }

// The tags of a rule's cases, the first words of their titles.
struct Shown {
  std::set<std::string> tags;
  std::string Missing(const Rule& rule) const {
    std::string missing;
    const auto need = [&](const char* tag) {
      if (!tags.contains(tag)) absl::StrAppend(&missing, " ", tag);
    };
    need("starts");
    need("silent");
    if (!rule.passes.empty()) need("passes");
    if (!rule.ends.empty()) need("ends");
    const bool travels = rule.direction == Direction::kReaders || rule.direction == Direction::kMakers;
    if (travels) need("loop");
    if (travels) need("branch");
    return missing;
  }
};

// The effects of the rule in a case, in the words of the tags.
std::set<std::string> TagsOf(const testing::Case& c, int rule) {
  std::set<std::string> tags;
  const absl::StatusOr<Program> program = testing::ParseBare(c.in);
  EXPECT_OK(program.status()) << c.title;
  if (!program.ok()) return tags;
  Facts facts(*program, DType::kF16, OnTiny::kSubnormal);
  std::vector<RuleStep> steps;
  const Marks marks = FindMarks(facts, uint32_t{1} << rule, &steps);
  std::set<int> blocks;
  for (const RuleStep& step : steps) {
    if (step.rule != rule) continue;
    tags.insert(step.step == Effect::kStarts ? "starts" : step.step == Effect::kPasses ? "passes" : "ends");
    blocks.insert(step.op->block().index());
  }
  bool any = false, loops = false;
  ForEachOp(*program, [&](const Op& op) {
    if (marks.Find(op) != nullptr) any = true;
    if (absl::StrContains(op.type(), "while") || absl::StrContains(op.type(), "Loop")) loops = true;
  });
  if (!any) tags.insert("silent");
  if (any && ProtectRules()[rule].direction == Direction::kCycle) tags.insert("starts");
  if (any && blocks.size() > 1) tags.insert(loops ? "loop" : "branch");
  return tags;
}

TEST(ProtectRules, EachHasCasesForAllThatItsRowSays) {
  for (int r = 0; r < static_cast<int>(ProtectRules().size()); ++r) {
    const Rule& rule = ProtectRules()[r];
    if (!HasCases(rule)) continue;
    const std::string path = absl::StrCat("tests/passes/protect/", Short(rule), ".case");
    ASSERT_OK_AND_ASSIGN(const std::vector<testing::Case> cases, testing::ParseCases(Read(path)));
    Shown shown;
    for (const testing::Case& c : cases) {
      EXPECT_EQ(c.run, absl::StrCat("protect{rules=", Short(rule), "}")) << path << " " << c.title;
      const std::set<std::string> tags = TagsOf(c, r);
      for (absl::string_view part : absl::StrSplit(c.title, ": ")) {
        static const std::set<std::string> kTags = {"starts", "passes", "ends", "loop", "branch", "silent"};
        if (!kTags.contains(std::string(part))) break;
        EXPECT_TRUE(tags.contains(std::string(part))) << path << ": '" << c.title << "' does not show that";
        shown.tags.insert(std::string(part));
      }
      // A rule that goes from makers to readers takes no step where it is silent; the others start at what asks.
      if (absl::StartsWith(c.title, "silent: ") && !absl::StartsWith(c.title, "silent: ends: ") && rule.backward == nullptr) {
        EXPECT_EQ(tags, std::set<std::string>{"silent"}) << path << ": '" << c.title << "' has steps of the rule";
      }
    }
    EXPECT_EQ(shown.Missing(rule), "") << path;
  }
}

TEST(ProtectRules, HaveIdsOfTheirOwnAndAreFoundByTheMarksThatTheyWrite) {
  std::set<absl::string_view> ids;
  for (const Rule& rule : ProtectRules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_FALSE(rule.starts.empty()) << rule.id;
    absl::string_view text;
    const std::string mark = MarkText(rule, "a: reason");
    EXPECT_EQ(RuleOfMark(mark, &text), &rule);
    EXPECT_EQ(text, "a: reason");
  }
  absl::string_view text;
  EXPECT_EQ(RuleOfMark("a user's", &text), nullptr);
  EXPECT_EQ(RuleOfMark("protect.nothing: of this table", &text), nullptr);
  EXPECT_TRUE(IsProtectMark("protect.nothing: of this table"));
}

// The list of the document.
std::string List() {
  std::string list = "| rule | starts at | passes through | ends at |\n|---|---|---|---|\n";
  for (const Rule& rule : ProtectRules()) {
    absl::StrAppend(&list, "| `", Short(rule), "` | ", rule.starts, " | ", rule.passes.empty() ? "-" : rule.passes, " | ",
                    rule.ends.empty() ? "-" : rule.ends, " |\n");
  }
  return list;
}

TEST(ProtectRules, StandInTheDocumentAsTheirRowsSay) {
  const std::string document = Read(kDocument);
  EXPECT_TRUE(absl::StrContains(document, List())) << kDocument << " needs this list:\n" << List();
}

}  // namespace
}  // namespace ampc
