// The tables of README.md and of tools/docs/benchmarks.md are what the last step of tools/quickstart.sh prints. Times are a machine's own
// and are not compared, nor the last digits of errors. Skipped where the models are not: --test_env=AMPC_MODELS names the folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/docs/page.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kNear = 0.67;  // errors: a factor of three, as processors round in other orders

// Cells stand two blanks apart or more.
std::vector<std::string> Cells(const std::string& line) {
  static const std::regex gap("\\s{2,}");
  return {std::sregex_token_iterator(line.begin(), line.end(), gap, -1), {}};
}

// model, type, then of a conversion size, ops, flops, casts and its time; latency and its ratio; error, answer.
bool SameRow(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() != b.size() || a.size() < 6) return false;
  const size_t error = a.size() - 2, times = a.size() == 6 ? 2 : 6;
  for (size_t i = 0; i < a.size(); ++i) {
    if (i >= times && i < error) continue;
    if (!(i == error ? SameWord(a[i], b[i], kNear) : a[i] == b[i])) return false;
  }
  return true;
}

std::vector<Block> Tables() {
  std::vector<Block> tables = Blocks("README.md"), more = Blocks("tools/docs/benchmarks.md");
  tables.insert(tables.end(), more.begin(), more.end());
  std::erase_if(tables, [](const Block& block) { return block.lines.empty() || block.lines[0].rfind("model  ", 0) != 0; });
  return tables;
}

TEST(QuickstartTables, ThereAreTwo) { EXPECT_EQ(Tables().size(), 2u); }

class QuickstartTable : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Readme, QuickstartTable, ::testing::Values(0, 1));

TEST_P(QuickstartTable, IsWhatTheLastStepPrints) {
  const char* models = std::getenv("AMPC_MODELS");
  if (models == nullptr || !fs::exists(models)) GTEST_SKIP() << "AMPC_MODELS names no folder with the models";
  const std::vector<std::string> said = Tables().at(GetParam()).lines;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> args = {"--runs=1", models, fs::absolute("tools/quickstart/data").string(), "."}, others;
  for (size_t i = 1; i < said.size(); ++i) {
    const std::vector<std::string> cells = Cells(said[i]);
    if (cells.size() < 6) {
      others.push_back(said[i]);
      continue;
    }
    rows.push_back(cells);
    if (std::find(args.begin() + 4, args.end(), cells[0]) == args.end()) args.push_back(cells[0]);
  }
  ASSERT_EQ(rows.size(), 6u);
  const TempFolder folder;
  const Outcome outcome = RunProcess("tools/quickstart/quickstart", args, folder.path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> printed = Lines(std::regex_replace(outcome.out, std::regex("best of 1 runs"), "best of 20 runs"));
  for (const std::vector<std::string>& row : rows) {
    EXPECT_TRUE(std::any_of(printed.begin(), printed.end(), [&row](const std::string& line) { return SameRow(row, Cells(line)); }))
        << "the table says of " << row[0] << " " << row[1] << " what is not in\n"
        << outcome.out;
  }
  for (const std::string& line : others)
    EXPECT_NE(std::find(printed.begin(), printed.end(), line), printed.end()) << line << "\nis not in\n" << outcome.out;
}

}  // namespace
}  // namespace ampc::testing
