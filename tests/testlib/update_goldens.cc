// Rewrites the out, table and notes sections of case files to what the passes print today; every other section stays.
//
//   update_goldens [--check] FILE.case...
//
// --check writes nothing and exits 1 when a section would change. A case that does not run (its input does not parse, a pass
// fails) is reported and left alone, exit 1.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/testlib/case_file.h"
#include "tests/testlib/run_case.h"

namespace {

using ampc::testing::Case;
using ampc::testing::CaseResult;
using ampc::testing::Expect;

struct Totals {
  int changed = 0, broken = 0;
};

bool Rewritable(const Case& c) { return c.expect == Expect::kOut || c.expect == Expect::kTable || c.expect == Expect::kNotes; }

// The text with every rewritable section up to date. From the last case to the first, so that line numbers stay right.
std::string Updated(const std::string& path, std::string text, const std::vector<Case>& cases, Totals* totals) {
  for (auto c = cases.rbegin(); c != cases.rend(); ++c) {
    if (!Rewritable(*c)) continue;
    const CaseResult result = ampc::testing::RunCase(*c);
    if (result.status.ok()) continue;
    std::cerr << path << ":" << c->line << ": " << c->title;
    if (ampc::ExitCodeOf(result.status) == ampc::ExitCode::kNo && !result.actual.empty()) {
      ++totals->changed;
      std::cerr << ": changed\n";
      text = ampc::testing::WithExpected(text, *c, result.actual);
    } else {
      ++totals->broken;
      std::cerr << ": " << result.status.message() << "\n";
    }
  }
  return text;
}

bool Update(const std::string& path, bool check, Totals* totals) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const absl::StatusOr<std::vector<Case>> cases = ampc::testing::ParseCases(text.str());
  if (!in || !cases.ok()) {
    std::cerr << path << ": " << (in ? std::string(cases.status().message()) : "cannot be read") << "\n";
    return false;
  }
  const std::string updated = Updated(path, text.str(), *cases, totals);
  if (check || updated == text.str()) return true;
  std::ofstream out(path);
  out << updated << std::flush;
  if (!out) std::cerr << path << ": cannot be written\n";
  return static_cast<bool>(out);
}

}  // namespace

int main(int argc, char** argv) {
  // `bazel run` starts in its own folder; paths are relative to the one where the user stands.
  const char* start = std::getenv("BUILD_WORKING_DIRECTORY");
  bool check = false, ok = true;
  Totals totals;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--check") {
      check = true;
    } else {
      ok &= Update(start == nullptr || arg[0] == '/' ? arg : std::string(start) + "/" + arg, check, &totals);
    }
  }
  if (argc < 2) {
    std::cerr << "update_goldens [--check] FILE.case...\n";
    return 2;
  }
  return ok && totals.broken == 0 && (!check || totals.changed == 0) ? 0 : 1;
}
