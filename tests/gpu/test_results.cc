#include "tests/gpu/test_results.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/json_reader.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

// Exit codes of `timeout` and of run.sh's `limited`.
constexpr char kTookTooLong[] = "124", kNoTimeLeft[] = "125";
constexpr char kFindings[] = "9";  // what run.sh asks compute-sanitizer for

std::string Trimmed(const fs::path& path) { return std::string(absl::StripAsciiWhitespace(ReadAll(path))); }

std::string Text(const JsonValue& object, const char* key) {
  const JsonValue* value = object.Find(key);
  return value == nullptr ? "" : value->text;
}

// "EXIT_CODE NAME" per line.
std::vector<std::pair<std::string, std::string>> CodesAndNames(const fs::path& path) {
  std::vector<std::pair<std::string, std::string>> lines;
  const std::string text = ReadAll(path);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace()))
    lines.push_back(absl::StrSplit(line, absl::MaxSplits(' ', 1)));
  return lines;
}

std::string HowItEnded(const std::string& code) {
  if (code == kTookTooLong) return "took longer than it may";
  return absl::StrCat("ended the process with exit code ", code);
}

// The errors of the status beside the failures of tests; "" for none.
std::string OfTheProcess(const std::string& status, bool has_result, const TestResult& r) {
  if (status == "started") return "was stopped before it ended";
  if (status == kNoTimeLeft) return "was not started: no time was left";
  if (!has_result && r.failures.empty()) return absl::StrCat("left no result: it ", HowItEnded(status));
  if (has_result && status != "0" && r.failed == 0) return absl::StrCat("failed no test, but ", HowItEnded(status));
  return "";
}

bool Count(const fs::path& json, TestResult* r) {
  const absl::StatusOr<JsonValue> result = ParseJson(ReadAll(json));
  const JsonValue* suites = result.ok() ? result->Find("testsuites") : nullptr;
  if (suites == nullptr) return false;
  for (const JsonValue& suite : suites->items) {
    const JsonValue* tests = suite.Find("testsuite");
    if (tests == nullptr) continue;
    for (const JsonValue& test : tests->items) {
      if (test.Find("failures") == nullptr) ++(Text(test, "result") == "SKIPPED" ? r->skipped : r->passed);
    }
  }
  return true;
}

TestResult ReadOne(const fs::path& status_file) {
  TestResult r;
  r.name = status_file.stem();
  fs::path file = status_file;
  const std::string status = Trimmed(status_file);
  const bool has_result = Count(file.replace_extension(".json"), &r);
  std::map<std::string, std::string> alone;
  const std::vector<std::string> failed = FailedTests(file);
  for (auto& [code, name] : CodesAndNames(file.replace_extension(".alone"))) alone[name] = code;
  for (const std::string& name : failed) {
    const auto again = alone.find(name);
    r.failures.push_back(again == alone.end() ? name
                                              : absl::StrCat(name, again->second == "0" ? " (passes alone)" : " (fails alone, too)"));
  }
  for (const auto& [code, name] : CodesAndNames(file.replace_extension(".crashed")))
    r.failures.push_back(absl::StrCat(name, ": ", HowItEnded(code)));
  r.failed = static_cast<int>(r.failures.size());
  if (const std::string more = OfTheProcess(status, has_result, r); !more.empty()) {
    ++r.failed;
    r.failures.push_back(absl::StrCat(r.name, " ", more));
  }
  return r;
}

}  // namespace

std::vector<fs::path> FilesIn(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> FailedTests(const fs::path& json) {
  std::vector<std::string> names;
  const absl::StatusOr<JsonValue> result = ParseJson(ReadAll(json));
  const JsonValue* suites = result.ok() ? result->Find("testsuites") : nullptr;
  if (suites == nullptr) return names;
  for (const JsonValue& suite : suites->items) {
    const JsonValue* tests = suite.Find("testsuite");
    if (tests == nullptr) continue;
    for (const JsonValue& test : tests->items) {
      if (test.Find("failures") != nullptr) names.push_back(Text(suite, "name") + "." + Text(test, "name"));
    }
  }
  return names;
}

std::vector<TestResult> ReadTestResults(const fs::path& folder) {
  std::vector<TestResult> results;
  for (const fs::path& file : FilesIn(folder, ".status")) results.push_back(ReadOne(file));
  return results;
}

KernelsRan ReadKernelsRan(const fs::path& folder) {
  std::set<std::string> has, ran;
  const std::string text = ReadAll(folder / "kernels.txt");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 3) (words[0] == "has" ? has : ran).insert(absl::StrCat(words[1], " in ", words[2]));
  }
  KernelsRan result;
  for (const std::string& kernel : has) {
    ++result.has;
    if (ran.contains(kernel)) {
      ++result.ran;
    } else {
      result.others.push_back(kernel);
    }
  }
  return result;
}

std::vector<SanitizerResult> ReadSanitizerResults(const fs::path& folder) {
  std::vector<SanitizerResult> results;
  for (fs::path file : FilesIn(folder, ".sanitizer")) {
    SanitizerResult r;
    r.tool = file.stem();
    const std::string code = Trimmed(file);
    r.found = code == kFindings;
    const std::string log = ReadAll(file.replace_extension(".log"));
    const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipWhitespace());
    r.text = code == "absent" ? "compute-sanitizer is not on this machine"
             : code == "0"    ? "no finding"
             : r.found        ? absl::StrCat("FINDINGS, see ", file.filename().string())
                              : absl::StrCat("refused here, or it failed: exit code ", code, lines.empty() ? "" : ": ",
                                      lines.empty() ? "" : lines.back());
    results.push_back(r);
  }
  return results;
}

}  // namespace ampc::testing
