// Runs case files: case_main --suite=PassText FILE.case...   Each case is a test `PassText/<file>.<title>`.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/testlib/broken_file.h"
#include "tests/testlib/case_file.h"
#include "tests/testlib/run_case.h"

namespace {

using ampc::testing::BrokenFileTest;

class CaseTest : public ::testing::Test {
 public:
  explicit CaseTest(ampc::testing::Case c) : case_(std::move(c)) {}
  void TestBody() override {
    const ampc::testing::CaseResult result = ampc::testing::RunCase(case_);
    EXPECT_TRUE(result.status.ok()) << "case of line " << case_.line << ", run: " << case_.run << "\n" << result.status.message();
  }

 private:
  ampc::testing::Case case_;
};

void RegisterFile(const std::string& suite, const std::string& path) {
  absl::string_view stem = path;
  stem.remove_prefix(stem.rfind('/') + 1);  // npos + 1 is 0
  const std::string name = suite + "/" + std::string(absl::StripSuffix(stem, ".case"));
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  absl::StatusOr<std::vector<ampc::testing::Case>> cases = ampc::testing::ParseCases(text.str());
  if (!in || !cases.ok()) {
    const std::string message = path + ": " + (in ? std::string(cases.status().message()) : "cannot be read");
    ::testing::RegisterTest(name.c_str(), "file_is_well_formed", nullptr, nullptr, path.c_str(), 1,
                            [message]() -> ::testing::Test* { return new BrokenFileTest(message); });
    return;
  }
  for (const ampc::testing::Case& c : *cases) {
    ::testing::RegisterTest(name.c_str(), c.name.c_str(), nullptr, nullptr, path.c_str(), c.line,
                            [c]() -> ::testing::Test* { return new CaseTest(c); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string suite = "Case";
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--suite=")) {
      suite = std::string(arg);
    } else {
      RegisterFile(suite, std::string(arg));
      ++files;
    }
  }
  if (files == 0) {
    ::testing::RegisterTest(suite.c_str(), "has_case_files", nullptr, nullptr, __FILE__, __LINE__,
                            []() -> ::testing::Test* { return new BrokenFileTest("no case file was given"); });
  }
  return RUN_ALL_TESTS();
}
