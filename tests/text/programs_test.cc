// Every programs/*.prog parses, verifies, and is exactly what printing it gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "graph/text/parser.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "tests/testlib/round_trip.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr char kFolder[] = "tests/text/programs";

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".prog") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ProgramText : public ::testing::TestWithParam<std::string> {};

TEST_P(ProgramText, VerifiesAndRoundTrips) {
  const std::string file = GetParam() + ".prog";
  std::ifstream in(std::string(kFolder) + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  ParseOptions options;
  options.file = file;
  options.directory = kFolder;
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(text.str(), options));
  EXPECT_OK(Verify(program));
  EXPECT_OK(testing::CheckRoundTrip(program));
  PrintOptions print;
  print.directory = kFolder;
  EXPECT_EQ(PrintProgram(program, print), text.str());
}

// A deep copy is the same program, and survives the original.
TEST_P(ProgramText, Clones) {
  std::ifstream in(std::string(kFolder) + "/" + GetParam() + ".prog");
  std::stringstream text;
  text << in.rdbuf();
  ParseOptions options;
  options.directory = kFolder;
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(text.str(), options));
  const Program copy = program.Clone();
  std::string why;
  EXPECT_TRUE(SameProgram(program, copy, &why)) << why;
  EXPECT_EQ(Fingerprint(program), Fingerprint(copy));
  program = Program("gone");
  EXPECT_OK(Verify(copy));
}

TEST(ProgramTexts, AreTheTenOfTheContract) { EXPECT_GE(Names().size(), 11u); }

INSTANTIATE_TEST_SUITE_P(Programs, ProgramText, ::testing::ValuesIn(Names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace ampc
