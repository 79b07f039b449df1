#include "passes/amp/select/selector.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/select/name_pattern.h"

namespace ampc {
namespace {

using Kind = SelectorTerm::Kind;

struct KindName {
  absl::string_view name;
  Kind kind;
};
constexpr KindName kKinds[] = {{"type", Kind::kType},     {"name", Kind::kName},         {"reads", Kind::kReads},
                               {"regex", Kind::kRegex},   {"block", Kind::kBlock},       {"scope", Kind::kScope},
                               {"region", Kind::kRegion}, {"upstream", Kind::kUpstream}, {"downstream", Kind::kDownstream}};

constexpr int kMaxDepth = 16;

absl::StatusOr<Kind> FindKind(absl::string_view name, absl::string_view whole) {
  std::vector<absl::string_view> names;
  for (const KindName& known : kKinds) {
    if (known.name == name) return known.kind;
    names.push_back(known.name);
  }
  std::string suggestion = Suggest(name, names);
  if (suggestion.empty()) suggestion = absl::StrCat("; a value with a colon in its name is written name:", whole);
  return UsageError(absl::StrCat("kind '", name,
                                 "' is unknown, needs type, name, reads, regex, block, scope, region, upstream or downstream", suggestion));
}

absl::StatusOr<SelectorTerm> ParseTerm(absl::string_view text, int depth) {
  SelectorTerm term;
  term.text = std::string(text);
  const size_t colon = text.find(':');
  if (colon != absl::string_view::npos) {
    AMPC_ASSIGN_OR_RETURN(term.kind, FindKind(text.substr(0, colon), text));
    term.text = std::string(text.substr(colon + 1));
  }
  if (term.text.empty()) return UsageError("nothing is named");
  if (term.kind == Kind::kUpstream || term.kind == Kind::kDownstream) {
    if (depth == kMaxDepth) return UsageError("upstream and downstream are nested too deep");
    AMPC_ASSIGN_OR_RETURN(SelectorTerm of, ParseTerm(term.text, depth + 1));
    term.of.push_back(std::move(of));
  } else if (term.kind == Kind::kRegex) {
    AMPC_ASSIGN_OR_RETURN(NamePattern regex, NamePattern::Regex(term.text));
    term.pattern = std::make_shared<const NamePattern>(std::move(regex));
  } else {
    term.pattern = std::make_shared<const NamePattern>(NamePattern::Glob(term.text));
  }
  return term;
}

// One past the selector that starts at `begin`.
size_t EndOfSelector(absl::string_view text, size_t begin) {
  int depth = 0;
  bool in_class = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ';') return i;  // wherever it stands
    if (c == '\\') {
      i += i + 1 < text.size() && text[i + 1] == ';' ? 0 : 1;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(' || c == '{') {
      ++depth;
    } else if (c == ')' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      return i;
    }
  }
  return text.size();
}

bool HasKind(absl::Span<const SelectorTerm> terms, Kind kind) {
  for (const SelectorTerm& term : terms) {
    if (term.kind == kind || HasKind(term.of, kind)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Selector> ParseSelector(absl::string_view text) {
  Selector out;
  out.text = std::string(absl::StripAsciiWhitespace(text));
  for (absl::string_view part : absl::StrSplit(out.text, " & ")) {
    absl::StatusOr<SelectorTerm> term = ParseTerm(absl::StripAsciiWhitespace(part), 0);
    if (!term.ok()) return Annotate(term.status(), absl::StrCat("selector '", out.text, "'"));
    out.terms.push_back(*std::move(term));
  }
  return out;
}

absl::StatusOr<std::vector<Selector>> ParseSelectorList(absl::string_view text) {
  std::vector<Selector> out;
  if (absl::StripAsciiWhitespace(text).empty()) return out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = EndOfSelector(text, begin);
    AMPC_ASSIGN_OR_RETURN(Selector selector, ParseSelector(text.substr(begin, end - begin)));
    out.push_back(std::move(selector));
    begin = end + 1;
  }
  return out;
}

absl::StatusOr<std::vector<Selector>> SelectorOption(const PassOptions& options, absl::string_view name) {
  const auto it = options.find(name);
  if (it == options.end()) return std::vector<Selector>();
  return ParseSelectorList(it->second);
}

bool HasKind(const std::vector<Selector>& selectors, SelectorTerm::Kind kind) {
  for (const Selector& selector : selectors) {
    if (HasKind(selector.terms, kind)) return true;
  }
  return false;
}

}  // namespace ampc
