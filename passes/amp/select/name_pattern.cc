#include "passes/amp/select/name_pattern.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

// The compiler of expressions calls itself for every character and several times for every group.
constexpr size_t kLongestRegex = 4096;
constexpr int kMostGroups = 200;

// The class that starts at pattern[p] == '[': one past its ']', npos where it has none, and whether `c` is in it.
size_t MatchClass(absl::string_view pattern, size_t p, char c, bool* in) {
  size_t i = p + 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  *in = negated;
  const size_t first = i;
  for (; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) return i + 1;
    const bool range = i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']';
    const char last = range ? pattern[i + 2] : pattern[i];
    if (pattern[i] <= c && c <= last) *in = !negated;
    if (range) i += 2;
  }
  return absl::string_view::npos;
}

// Whether the part of the pattern at `p` that stands for one character takes `c`; `*next` is behind that part.
bool MatchOne(absl::string_view pattern, size_t p, char c, size_t* next) {
  *next = p + 1;
  if (pattern[p] == '?') return true;
  if (pattern[p] == '[') {
    bool in = false;
    const size_t end = MatchClass(pattern, p, c, &in);
    if (end != absl::string_view::npos) {
      *next = end;
      return in;
    }
  }
  return pattern[p] == c;
}

}  // namespace

bool GlobMatch(absl::string_view pattern, absl::string_view text) {
  size_t p = 0, t = 0, star = absl::string_view::npos, mark = 0, next = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && MatchOne(pattern, p, text[t], &next)) {
      p = next;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

NamePattern NamePattern::Glob(absl::string_view text) {
  NamePattern out;
  out.text_ = std::string(text);
  return out;
}

absl::StatusOr<NamePattern> NamePattern::Regex(absl::string_view text) {
  const auto groups = std::count(text.begin(), text.end(), '(');
  if (text.size() > kLongestRegex || groups > kMostGroups) {
    return UsageError(absl::StrCat("a regular expression has ", text.size(), " characters, ", groups, " of them '(', needs at most ",
                                   kLongestRegex, " and ", kMostGroups));
  }
  NamePattern out;
  out.text_ = std::string(text);
  try {
    // The breadth-first matcher: no recursion per character, no exponential time.
    out.regex_.emplace(out.text_, std::regex::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error& error) {
    return UsageError(absl::StrCat("'", text, "' is no regular expression: ", error.what()));
  }
  return out;
}

bool NamePattern::Matches(absl::string_view name) const {
  if (regex_.has_value()) return std::regex_match(name.begin(), name.end(), *regex_);
  return name == text_ || GlobMatch(text_, name);
}

}  // namespace ampc
