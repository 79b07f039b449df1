// The pages of tools/docs and the commands of README.md. The commands of a page with `console` blocks run in order in one folder, and print
// what the page says: words and counts exactly, times not at all, other numbers nearly, because their last digits depend on the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/op_registry.h"
#include "tests/docs/page.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

struct Command {
  std::string line;
  std::vector<std::string> printed;
};

std::vector<Command> Commands(const std::vector<Block>& blocks) {
  std::vector<Command> commands;
  for (const Block& block : blocks) {
    if (block.kind != "console") continue;
    for (const std::string& line : block.lines) {
      if (line.rfind("$ ", 0) == 0) {
        commands.push_back({line.substr(2), {}});
      } else {
        commands.back().printed.push_back(line);
      }
    }
  }
  return commands;
}

// The words of a line; a time is one of them, "TIME".
std::vector<std::string> Words(const std::string& line) {
  static const std::regex time("[0-9.]+ (ns|us|ms|s)\\b");
  std::istringstream in(std::regex_replace(line, time, "TIME"));
  return {std::istream_iterator<std::string>(in), {}};
}

bool SameLine(const std::string& printed, const std::string& found) {
  const std::vector<std::string> a = Words(printed), b = Words(found);
  if (a.size() != b.size()) return false;
  // A row of times is a measurement as a whole; a row of errors, which ends with a cosine, is near to a factor of two.
  if (std::count(a.begin(), a.end(), "TIME") > 2) return true;
  static const std::regex cosine("[01]\\.[0-9]{9}");
  const bool errors = std::any_of(a.begin(), a.end(), [](const std::string& word) { return std::regex_match(word, cosine); });
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameWord(a[i], b[i], errors ? 0.5 : 0.01) && !(errors && SameWord(a[i] + ".0", b[i] + ".0", 0.5))) return false;
  }
  return true;
}

// "..." stands for any lines.
bool Same(const std::vector<std::string>& printed, size_t p, const std::vector<std::string>& found, size_t f) {
  if (p == printed.size()) return f == found.size();
  if (printed[p] == "...") return Same(printed, p + 1, found, f) || (f < found.size() && Same(printed, p, found, f + 1));
  return f < found.size() && SameLine(printed[p], found[f]) && Same(printed, p + 1, found, f + 1);
}

// Runs all lines in one shell; what each printed, errors too, is in out.N.
void RunAll(const std::vector<Command>& commands, const TempFolder& folder) {
  fs::create_directory(folder / "bin");
  fs::create_symlink(fs::absolute("tools/ampc"), folder / "bin/ampc");
  std::string script;
  for (size_t i = 0; i < commands.size(); ++i) script += "{ " + commands[i].line + "\n} > out." + std::to_string(i) + " 2>&1\n";
  const Outcome outcome = RunProcess("/bin/bash", {"-c", "PATH=$PWD/bin:$PATH\n" + script}, folder.path());
  EXPECT_EQ(outcome.err, "");
}

class PageTest : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string path_ = "tools/docs/" + GetParam() + ".md";
  const std::vector<Block> blocks_ = Blocks(path_);
};

TEST_P(PageTest, CommandsPrintWhatItSays) {
  const TempFolder folder;
  for (const char* models : {"tools/docs/models", "tests/golden/models"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(models))
      fs::copy_file(entry.path(), folder / entry.path().filename().string());
  }
  for (const Block& block : blocks_) {
    if (block.argument.rfind("new=", 0) == 0) WriteFile(folder / block.argument.substr(4), Joined(block.lines));
  }
  const std::vector<Command> commands = Commands(blocks_);
  ASSERT_GE(commands.size(), 3u);
  RunAll(commands, folder);
  for (size_t i = 0; i < commands.size(); ++i) {
    const std::string found = ReadFile(folder / ("out." + std::to_string(i)));
    EXPECT_TRUE(Same(commands[i].printed, 0, Lines(found), 0)) << path_ << ": $ " << commands[i].line << "\nthe page says\n"
                                                               << Joined(commands[i].printed) << "it prints\n"
                                                               << found;
  }
}

class AnyPageTest : public PageTest {};

TEST_P(AnyPageTest, QuotedLinesStandInTheirFiles) {
  for (const Block& block : blocks_) {
    if (block.argument.rfind("file=", 0) != 0) continue;
    const std::string file = ReadFile(block.argument.substr(5));
    ASSERT_NE(file, "") << block.argument;
    EXPECT_NE(file.find(Joined(block.lines)), std::string::npos) << path_ << ": not in " << block.argument << "\n" << Joined(block.lines);
  }
}

TEST_P(AnyPageTest, LinksLeadToFiles) {
  const std::string text = ReadFile(path_);
  const std::regex link("\\]\\(([a-z0-9_./]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
    if (absl::StartsWith((*it)[1].str(), "../")) continue;  // tools/lint/commands.py looks at the whole tree
    EXPECT_TRUE(fs::exists("tools/docs/" + (*it)[1].str())) << path_ << ": " << (*it)[1];
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) { return info.param; }
const std::vector<std::string> kWithCommands = {"errors",           "from_paddle",   "nan_in_fp16", "is_fp16_worth_it",
                                                "how_to_add_an_op", "protect_rules", "tune"};
const std::vector<std::string> kReferences = {"benchmarks",
                                              "c",
                                              "convert",
                                              "cpp",
                                              "flow",
                                              "from_modelopt_and_polygraphy",
                                              "from_onnxconverter_common",
                                              "from_pytorch",
                                              "gpu",
                                              "onnx",
                                              "paddle3",
                                              "programs",
                                              "runtime_faults",
                                              "supported",
                                              "training"};
INSTANTIATE_TEST_SUITE_P(Docs, PageTest, ::testing::ValuesIn(kWithCommands), NameOf);
INSTANTIATE_TEST_SUITE_P(Docs, AnyPageTest, ::testing::ValuesIn(kWithCommands), NameOf);
INSTANTIATE_TEST_SUITE_P(References, AnyPageTest, ::testing::ValuesIn(kReferences), NameOf);

TEST(DocsFolder, EveryPageIsTestedAndListed) {
  const std::string index = ReadFile("tools/docs/README.md");
  int pages = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("tools/docs")) {
    const std::string name = entry.path().filename().string();
    if (name == "README.md" || entry.path().extension() != ".md") continue;
    ++pages;
    EXPECT_NE(index.find("(" + name + ")"), std::string::npos) << name;
  }
  EXPECT_EQ(static_cast<size_t>(pages), kWithCommands.size() + kReferences.size());
}

TEST(Supported, CountsOperations) {
  const std::vector<const OpDef*> all = Ops().All();
  const auto gradients =
      std::count_if(all.begin(), all.end(), [](const OpDef* def) { return absl::StartsWith(def->doc, "The gradient of "); });
  const std::string page = ReadFile("tools/docs/supported.md"), records = std::to_string(static_cast<int64_t>(all.size()) - gradients);
  EXPECT_NE(page.find("\n" + records + " operations have a record"), std::string::npos) << records;
  EXPECT_NE(page.find("and " + std::to_string(gradients) + " of them a gradient operation"), std::string::npos) << gradients;
}

TEST(Readme, HasAtMost150Lines) { EXPECT_LE(Lines(ReadFile("README.md")).size(), 150u); }

// Lines of README.md and of the other pages that begin with "ampc", with a small model in the place of the reader's.
TEST(Readme, CommandsRun) {
  const TempFolder folder;
  fs::copy_file("tests/golden/onnx/small.onnx", folder / "model.onnx");
  fs::copy_file("tests/golden/onnx/small.onnx", folder / "original.onnx");
  fs::copy_file("tests/golden/onnx/small_inputs_0.npz", folder / "in.npz");
  std::vector<Command> commands;
  std::vector<Block> blocks = Blocks("README.md");
  for (const std::string& page : kReferences) {
    for (Block& block : Blocks("tools/docs/" + page + ".md")) blocks.push_back(std::move(block));
  }
  for (const Block& block : blocks) {
    for (const std::string& line : block.lines) {
      if (absl::StartsWith(line, "ampc ")) commands.push_back({line + "\nstatus=$?; [ $status = 0 ] || echo \"exit $status\"", {}});
    }
  }
  ASSERT_GE(commands.size(), 3u);
  RunAll(commands, folder);
  for (size_t i = 0; i < commands.size(); ++i) {
    const std::string found = ReadFile(folder / ("out." + std::to_string(i)));
    EXPECT_EQ(found.find("exit "), std::string::npos) << commands[i].line << "\n" << found;
  }
}

}  // namespace
}  // namespace ampc::testing
