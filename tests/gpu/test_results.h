// The files that run.sh leaves of its test programs in a folder: NAME.status (an exit code, or "started"), NAME.json (GoogleTest's result,
// where there is one), NAME.crashed (a line for each test that ended the process or took all the time: exit code, name), NAME.alone (a line
// for each failure that was run once more alone: exit code, name); TOOL.sanitizer (an exit code, or "absent") and TOOL.log; kernels.txt
// (tests/testlib/kernels_ran.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ampc::testing {

std::string ReadAll(const std::filesystem::path& path);  // "" where it cannot be read
std::vector<std::filesystem::path> FilesIn(const std::filesystem::path& folder, const std::string& extension);  // sorted

struct TestResult {
  std::string name;
  int passed = 0, failed = 0, skipped = 0;
  std::vector<std::string> failures;  // a sentence each; what crashed, hung or was stopped is one, too
};

// One for each NAME.status, by name.
std::vector<TestResult> ReadTestResults(const std::filesystem::path& folder);

// The full names of the tests that failed by a result of GoogleTest.
std::vector<std::string> FailedTests(const std::filesystem::path& json);

struct KernelsRan {
  int has = 0, ran = 0;             // an op and a float type each
  std::vector<std::string> others;  // those that no test ran, "OP in TYPE"
};

KernelsRan ReadKernelsRan(const std::filesystem::path& folder);

struct SanitizerResult {
  std::string tool;
  bool found = false;  // something
  std::string text;    // for people
};

std::vector<SanitizerResult> ReadSanitizerResults(const std::filesystem::path& folder);

}  // namespace ampc::testing
