#include "tests/testlib/case_file.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::testing {
namespace {

constexpr std::pair<absl::string_view, Expect> kExpectations[] = {
    {"out", Expect::kOut},     {"check", Expect::kCheck}, {"unchanged", Expect::kUnchanged},
    {"error", Expect::kError}, {"table", Expect::kTable}, {"notes", Expect::kNotes}};

std::string TestName(absl::string_view title) {
  std::string name(title);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

class CaseReader {
 public:
  explicit CaseReader(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {}

  absl::StatusOr<std::vector<Case>> Run() {
    while (!AtEnd() && !absl::StartsWith(Line(), "=== ")) {
      if (!Line().empty() && Line()[0] != '#') return Error("needed '=== title' or a comment");
      ++at_;
    }
    std::vector<Case> cases;
    std::set<std::string> names;
    while (!AtEnd()) {
      AMPC_ASSIGN_OR_RETURN(Case c, ReadCase());
      if (!names.insert(c.name).second)
        return UsageError(absl::StrCat(c.line, ": found the case '", c.title, "' twice, needed a title of its own"));
      cases.push_back(std::move(c));
    }
    if (cases.empty()) return UsageError("found no case, needed '=== title'");
    return cases;
  }

 private:
  bool AtEnd() const { return at_ == static_cast<int>(lines_.size()); }
  absl::string_view Line() const { return absl::StripTrailingAsciiWhitespace(lines_[at_]); }
  bool AtBorder() const { return AtEnd() || absl::StartsWith(Line(), "=== ") || absl::StartsWith(Line(), "--- "); }
  absl::Status Error(absl::string_view needed) const {
    return UsageError(absl::StrCat(at_ + 1, ": found ", AtEnd() ? "the end of the file" : absl::StrCat("'", Line(), "'"), ", ", needed));
  }

  absl::StatusOr<Case> ReadCase() {
    Case c;
    c.line = at_ + 1;
    c.title = std::string(absl::StripAsciiWhitespace(Line().substr(4)));
    c.name = TestName(c.title);
    for (++at_; !AtBorder(); ++at_) AMPC_RETURN_IF_ERROR(ReadOption(&c));
    if (c.run.empty()) return Error("needed 'run: ' and what to run");
    if (AtEnd() || Line() != "--- in") return Error("needed '--- in'");
    ++at_;
    c.in = ReadSection().first;
    if (AtEnd() || !absl::StartsWith(Line(), "--- ")) return Error("needed one of --- out, check, unchanged, error, table, notes");
    bool known = false;
    for (const auto& [word, expect] : kExpectations) {
      if (Line().substr(4) != word) continue;
      c.expect = expect;
      known = true;
    }
    if (!known) return Error("needed one of --- out, check, unchanged, error, table, notes");
    c.expected_begin = ++at_;
    std::tie(c.expected, c.expected_end) = ReadSection();
    if (!AtEnd() && absl::StartsWith(Line(), "--- ")) return Error("needed '=== title': a case has one expectation");
    return c;
  }

  absl::Status ReadOption(Case* c) {
    absl::string_view line = Line();
    if (line.empty() || line[0] == '#') return absl::OkStatus();
    if (absl::ConsumePrefix(&line, "run:")) {
      c->run = std::string(absl::StripAsciiWhitespace(line));
      return absl::OkStatus();
    }
    if (!absl::ConsumePrefix(&line, "context:")) return Error("needed 'run: ', 'context: key=value' or '--- in'");
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits('=', 1));
    c->context[std::string(option.first)] = std::string(option.second);
    return absl::OkStatus();
  }

  // The text up to the next border without its blank lines at the end, and the line behind it.
  std::pair<std::string, int> ReadSection() {
    const int begin = at_;
    while (!AtBorder()) ++at_;
    int end = at_;
    while (end > begin && absl::StripAsciiWhitespace(lines_[end - 1]).empty()) --end;
    return {absl::StrJoin(lines_.begin() + begin, lines_.begin() + end, "\n"), end};
  }

  std::vector<absl::string_view> lines_;
  int at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Case>> ParseCases(absl::string_view text) { return CaseReader(text).Run(); }

std::string WithExpected(absl::string_view text, const Case& c, absl::string_view expected) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<absl::string_view> out(lines.begin(), lines.begin() + c.expected_begin);
  if (!expected.empty()) out.push_back(expected);
  out.insert(out.end(), lines.begin() + c.expected_end, lines.end());
  return absl::StrJoin(out, "\n");
}

}  // namespace ampc::testing
