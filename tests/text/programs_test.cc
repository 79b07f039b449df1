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
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
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

absl::StatusOr<Program> Load(const std::string& name, std::string* text) {
  std::ifstream in(std::string(kFolder) + "/" + name + ".prog");
  std::stringstream buffer;
  buffer << in.rdbuf();
  *text = buffer.str();
  ParseOptions options;
  options.file = name + ".prog";
  options.directory = kFolder;
  return ParseProgram(*text, options);
}

class ProgramText : public ::testing::TestWithParam<std::string> {};

TEST_P(ProgramText, VerifiesAndRoundTrips) {
  std::string text;
  ASSERT_OK_AND_ASSIGN(const Program program, Load(GetParam(), &text));
  EXPECT_OK(Verify(program));
  EXPECT_OK(testing::CheckRoundTrip(program));
  PrintOptions print;
  print.directory = kFolder;
  EXPECT_EQ(PrintProgram(program, print), text);
}

// A deep copy is the same program, and survives the original.
TEST_P(ProgramText, Clones) {
  std::string text;
  ASSERT_OK_AND_ASSIGN(Program program, Load(GetParam(), &text));
  const Program copy = program.Clone();
  std::string why;
  EXPECT_TRUE(SameProgram(program, copy, &why)) << why;
  EXPECT_EQ(Fingerprint(program), Fingerprint(copy));
  program = Program("gone");
  EXPECT_OK(Verify(copy));
}

TEST(ProgramTexts, AreTheTenOfTheContract) { EXPECT_GE(Names().size(), 11u); }

TEST(ProgramTexts, StrippingTheConvertedProgramGivesTheOriginal) {
  std::string converted_text, original_text;
  ASSERT_OK_AND_ASSIGN(Program program, Load("converted", &converted_text));
  ASSERT_OK_AND_ASSIGN(const Program original, Load("converted_stripped", &original_text));
  ASSERT_OK_AND_ASSIGN(const Pipeline strip, Pipeline::Parse("remove-amp-cast"));
  PassContext ctx;
  ASSERT_OK_AND_ASSIGN(ctx.support, TargetSupport("cuda"));
  ASSERT_OK(RunPipeline(strip, {}, ctx, program));
  EXPECT_EQ(PrintProgram(program), original_text);
}

INSTANTIATE_TEST_SUITE_P(Programs, ProgramText, ::testing::ValuesIn(Names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace ampc
