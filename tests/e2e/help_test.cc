// --help of every verb, and what the README says about verbs and options.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kVerbs = {"bench", "compare", "completion", "convert", "dot",   "explain", "inspect",
                                         "opt",   "profile", "run",        "strip",   "train", "tune",    "verify"};

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

std::set<std::string> Options(const std::string& text) { return Matches(text, "(?:^|[^-\\w])(--[a-z0-9][a-z0-9-]*)"); }

class HelpTest : public CliTest {};

TEST_F(HelpTest, ListsTheVerbs) {
  const std::string help = Ok({"--help"});
  for (const std::string& verb : kVerbs) EXPECT_THAT(help, HasSubstr("\n  " + verb + " "));
  EXPECT_THAT(help, HasSubstr("Exit codes: 0 done"));
}

TEST_F(HelpTest, Version) { EXPECT_THAT(Ok({"--version"}), StartsWith("ampc ")); }

TEST_F(HelpTest, EveryVerbHasExamples) {
  for (const std::string& verb : kVerbs) {
    const std::string help = Ok({verb, "--help"});
    EXPECT_THAT(help, HasSubstr("Examples:\n  ampc " + verb + " "));
    EXPECT_THAT(Ok({verb, "-h"}), HasSubstr("Examples:")) << verb;
  }
}

TEST_F(HelpTest, ExamplesUseOptionsThatExist) {
  for (const std::string& verb : kVerbs) {
    const std::string help = Ok({verb, "--help"});
    const size_t examples = help.find("Examples:");
    ASSERT_NE(examples, std::string::npos);
    const std::set<std::string> known = Options(help.substr(0, examples));
    for (const std::string& option : Options(help.substr(examples))) EXPECT_TRUE(known.contains(option)) << verb << " " << option;
  }
}

std::string WithoutExamples(const std::string& help) { return help.substr(0, help.find("Examples:")); }

// The form of a value, not the library's name of it; in lines of a terminal.
TEST_F(HelpTest, OptionsSayWhatTheirValuesAre) {
  for (const std::string& verb : kVerbs) {
    const std::string options = WithoutExamples(Ok({verb, "--help"}));
    for (const char* word : {"TEXT", " INT", "UINT", "FLOAT", "REQUIRED", "{false}", "NONNEGATIVE"})
      EXPECT_THAT(options, ::testing::Not(HasSubstr(word))) << verb;
    std::istringstream lines(options);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << verb << "\n" << line;
  }
  EXPECT_THAT(Ok({"convert", "--help"}), HasSubstr("Usage: ampc convert [OPTIONS] model -o FILE\n"));
  EXPECT_THAT(Ok({"run", "--help"}), HasSubstr("\n  --device DEVICE                 cpu, or cuda:N in a build with CUDA (default: cpu)\n"));
}

// Headings are for reading: the last one has what every verb has, and few others.
TEST_F(HelpTest, ManyOptionsHaveHeadings) {
  constexpr size_t kMost = 12;
  for (const std::string& verb : kVerbs) {
    const std::string help = WithoutExamples(Ok({verb, "--help"}));
    const std::set<std::string> rest = Options(help.substr(help.find("\nOptions:\n")));
    EXPECT_LE(rest.size(), kMost) << verb;
    if (Options(help).size() <= 2 * kMost) continue;
    EXPECT_THAT(rest, ::testing::UnorderedElementsAre("--help", "--json")) << verb;
  }
  const std::string help = WithoutExamples(Ok({"convert", "--help"}));
  for (const char* heading : {"Basic", "Selection of ops", "Values of runs", "Weights", "Files", "Paddle"})
    EXPECT_THAT(help, HasSubstr("\n" + std::string(heading) + ":\n"));
}

TEST_F(HelpTest, VerbsThatPrintAResultHaveJson) {
  for (const char* verb :
       {"bench", "convert", "explain", "run", "compare", "inspect", "opt", "verify", "strip", "train", "tune", "profile"})
    EXPECT_THAT(Ok({verb, "--help"}), HasSubstr("--json")) << verb;
}

// The table of the README names every verb, and only options that the verb has.
TEST_F(HelpTest, ReadmeNamesVerbsAndOptionsThatExist) {
  const std::string readme = ReadFile("README.md");
  ASSERT_FALSE(readme.empty());
  const std::set<std::string> verbs = Matches(readme, "`ampc ([a-z]+) ");
  EXPECT_EQ(verbs, std::set<std::string>(kVerbs.begin(), kVerbs.end()));
  const std::regex row("\\| `ampc ([a-z]+) [^\n]*");
  for (std::sregex_iterator it(readme.begin(), readme.end(), row), end; it != end; ++it) {
    const std::set<std::string> known = Options(Ok({(*it)[1], "--help"}));
    for (const std::string& option : Options(it->str())) EXPECT_TRUE(known.contains(option)) << it->str() << "\n" << option;
  }
}

// But for files.
TEST_F(HelpTest, AConfigurationHasEveryOptionOfConvert) {
  const std::string help = Ok({"convert", "--help"}), all = help.substr(0, help.find("Examples:"));
  MakeModel("mlp", kMlp);
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--write-config", "run.json"});
  const std::string files =
      " help output params params-output report no-sync json config write-config calibrate save-ranges ranges profile mean std channels "
      "plan plan-out "
      "compat ";
  int options = 0;
  for (size_t at = all.find("--"); at != std::string::npos; at = all.find("--", at + 2)) {
    const std::string name = all.substr(at + 2, all.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 2) - at - 2);
    if (absl::StrContains(files, " " + name + " ")) continue;
    ++options;
    EXPECT_THAT(Read("run.json"), HasSubstr("\"" + name + "\":")) << name;
  }
  EXPECT_GE(options, 14);
}

}  // namespace
}  // namespace ampc::testing
