#include "tests/testlib/match.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tests/testlib/no_in_lines.h"

namespace ampc::testing {
namespace {

enum class Kind { kCheck, kNext, kSame, kNot, kLabel };

struct Token {
  bool variable = false;
  std::string text;  // literal, or the variable's name
};

struct Check {
  Kind kind = Kind::kCheck;
  int line = 0;
  std::string pattern;
  std::vector<Token> tokens;
};

using Bindings = std::map<std::string, std::string>;

std::string OneBlank(absl::string_view line) {
  std::string out(line);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return absl::ascii_isspace(c); }, ' ');
  absl::RemoveExtraAsciiWhitespace(&out);
  return out;
}

absl::StatusOr<std::vector<Token>> Tokens(absl::string_view pattern, int line) {
  std::vector<Token> tokens;
  while (!pattern.empty()) {
    const size_t open = pattern.find("[[");
    if (open != 0) tokens.push_back({false, std::string(pattern.substr(0, open))});
    if (open == absl::string_view::npos) break;
    const size_t close = pattern.find("]]", open);
    if (close == absl::string_view::npos) return UsageError(absl::StrCat("check line ", line, ": found '[[', needed ']]' behind it"));
    tokens.push_back({true, std::string(pattern.substr(open + 2, close - open - 2))});
    pattern.remove_prefix(close + 2);
  }
  return tokens;
}

absl::StatusOr<std::vector<Check>> ParseChecks(absl::string_view text) {
  static constexpr std::pair<absl::string_view, Kind> kWords[] = {{"CHECK:", Kind::kCheck},
                                                                  {"CHECK-NEXT:", Kind::kNext},
                                                                  {"CHECK-SAME:", Kind::kSame},
                                                                  {"CHECK-NOT:", Kind::kNot},
                                                                  {"CHECK-LABEL:", Kind::kLabel}};
  std::vector<Check> checks;
  int line = 0;
  for (absl::string_view row : absl::StrSplit(text, '\n')) {
    ++line;
    row = absl::StripAsciiWhitespace(row);
    if (row.empty() || row[0] == '#') continue;
    std::optional<Check> check;
    for (const auto& [word, kind] : kWords) {
      if (!absl::StartsWith(row, word)) continue;
      check = Check{kind, line, OneBlank(row.substr(word.size())), {}};
    }
    if (!check || check->pattern.empty())
      return UsageError(absl::StrCat("check line ", line, ": found '", row, "', needed CHECK: and a pattern"));
    AMPC_ASSIGN_OR_RETURN(check->tokens, Tokens(check->pattern, line));
    checks.push_back(*std::move(check));
  }
  if (checks.empty()) return UsageError("found no CHECK line, needed one");
  return checks;
}

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The length of the name that starts at `pos`: a bare one or one in quotes; 0 when none starts there.
size_t NameLength(absl::string_view line, size_t pos) {
  if (pos > 0 && IsNameByte(line[pos - 1])) return 0;
  size_t end = pos;
  if (end < line.size() && line[end] == '"') {
    const size_t close = line.find('"', end + 1);
    return close == absl::string_view::npos ? 0 : close + 1 - pos;
  }
  while (end < line.size() && IsNameByte(line[end])) ++end;
  return end - pos;
}

// The end of the match that starts at `pos`, with its new bindings.
std::optional<size_t> MatchAt(const Check& check, absl::string_view line, size_t pos, Bindings& bindings) {
  for (const Token& token : check.tokens) {
    std::string want = token.text;
    if (token.variable) {
      const size_t length = NameLength(line, pos);
      if (length == 0) return std::nullopt;
      const std::string name(line.substr(pos, length));
      want = bindings.emplace(token.text, name).first->second;
      if (want != name) return std::nullopt;
    }
    if (!absl::StartsWith(line.substr(pos), want)) return std::nullopt;
    pos += want.size();
  }
  return pos;
}

class Matcher {
 public:
  explicit Matcher(absl::string_view text) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) lines_.push_back(OneBlank(line));
  }

  absl::Status Run(const std::vector<Check>& checks) {
    AMPC_RETURN_IF_ERROR(FindLabels(checks));
    std::vector<const Check*> nots;
    size_t label = 0;
    for (const Check& check : checks) {
      limit_ = label < labels_.size() ? labels_[label] + (check.kind == Kind::kLabel ? 1 : 0) : lines_.size();
      if (check.kind == Kind::kNot) {
        nots.push_back(&check);
        continue;
      }
      const TextPosition from = last_;
      AMPC_RETURN_IF_ERROR(Advance(check, check.kind == Kind::kLabel ? labels_[label] : from.line));
      if (check.kind == Kind::kLabel) ++label;
      AMPC_RETURN_IF_ERROR(CheckAbsent(nots, from, start_));
      nots.clear();
    }
    return CheckAbsent(nots, last_, {lines_.size(), 0});
  }

 private:
  struct TextPosition {
    size_t line = 0, column = 0;
  };

  // The line of every label, each behind the one before.
  absl::Status FindLabels(const std::vector<Check>& checks) {
    size_t line = 0;
    for (const Check& check : checks) {
      if (check.kind != Kind::kLabel) continue;
      Bindings none;
      while (line < lines_.size() && !FindIn(check, line, 0, lines_[line].size(), none)) ++line;
      if (line == lines_.size()) return Missing(check, "the text");
      labels_.push_back(line++);
    }
    return absl::OkStatus();
  }

  // The place of a match on one line that starts in [begin, end]; binds its variables.
  std::optional<std::pair<size_t, size_t>> FindIn(const Check& check, size_t line, size_t begin, size_t end, Bindings& bindings) const {
    for (size_t pos = begin; pos <= end && pos <= lines_[line].size(); ++pos) {
      Bindings attempt = bindings;
      if (std::optional<size_t> stop = MatchAt(check, lines_[line], pos, attempt)) {
        bindings = std::move(attempt);
        return std::pair(pos, *stop);
      }
    }
    return std::nullopt;
  }

  absl::Status Advance(const Check& check, size_t first) {
    size_t until = limit_;
    size_t line = first;
    if (check.kind == Kind::kNext) line = matched_ ? last_.line + 1 : 0;
    if (check.kind == Kind::kNext || check.kind == Kind::kSame) until = std::min(limit_, line + 1);
    for (; line < until; ++line) {
      const size_t begin = line == last_.line ? last_.column : 0;
      if (const auto found = FindIn(check, line, begin, lines_[line].size(), bindings_)) {
        start_ = {line, found->first};
        last_ = {line, found->second};
        matched_ = true;
        return absl::OkStatus();
      }
    }
    return Missing(check, check.kind == Kind::kNext   ? "the next line"
                          : check.kind == Kind::kSame ? "the rest of the line"
                                                      : "what follows the last match");
  }

  absl::Status CheckAbsent(const std::vector<const Check*>& nots, TextPosition from, TextPosition to) const {
    for (const Check* check : nots) {
      for (size_t line = from.line; line < lines_.size() && line <= to.line; ++line) {
        Bindings copy = bindings_;
        const size_t begin = line == from.line ? from.column : 0;
        const std::string upto = line == to.line ? lines_[line].substr(0, to.column) : lines_[line];
        for (size_t pos = begin; pos < upto.size(); ++pos) {
          if (!MatchAt(*check, upto, pos, copy)) continue;
          return NoError(absl::StrCat("check line ", check->line, ": found '", lines_[line], "', needed no '", check->pattern, "' there"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Missing(const Check& check, absl::string_view where) const {
    const std::string bound = absl::StrJoin(bindings_, ", ", absl::PairFormatter("="));
    return NoInLines(absl::StrCat("check line ", check.line, ": needed '", check.pattern, "' in ", where, bound.empty() ? "" : ", with ",
                                  bound, " in\n", absl::StrJoin(lines_, "\n")));
  }

  std::vector<std::string> lines_;
  std::vector<size_t> labels_;
  Bindings bindings_;
  TextPosition start_, last_;  // of the last match
  bool matched_ = false;
  size_t limit_ = 0;  // one past the last line that may match now
};

}  // namespace

absl::Status MatchChecks(absl::string_view checks, absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(std::vector<Check> parsed, ParseChecks(checks));
  return Matcher(text).Run(parsed);
}

}  // namespace ampc::testing
