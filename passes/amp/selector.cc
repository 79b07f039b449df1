#include "passes/amp/selector.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "passes/amp/decision.h"

namespace ampc {

bool GlobMatch(absl::string_view pattern, absl::string_view text) {
  size_t p = 0, t = 0, star = absl::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
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

bool Selector::Matches(const Op& op) const {
  const auto defines = [this, &op] {
    for (const Var* var : op.outputs()) {
      if (GlobMatch(pattern, var->exported()) || GlobMatch(pattern, var->name())) return true;
    }
    return false;
  };
  switch (kind) {
    case Kind::kTypeOrName: return GlobMatch(pattern, op.type()) || defines();
    case Kind::kType: return GlobMatch(pattern, op.type());
    case Kind::kName: return defines();
    case Kind::kScope: return absl::StartsWith(op.GetString("op_namescope"), pattern);
    case Kind::kRegion: return absl::StrCat(op.marks.guard) == pattern;
  }
  return false;
}

absl::StatusOr<Selector> ParseSelector(absl::string_view text) {
  Selector out;
  out.text = std::string(text);
  out.pattern = out.text;
  const size_t colon = text.find(':');
  if (colon != absl::string_view::npos) {
    const absl::string_view kind = text.substr(0, colon);
    out.pattern = std::string(text.substr(colon + 1));
    if (kind == "type") {
      out.kind = Selector::Kind::kType;
    } else if (kind == "name") {
      out.kind = Selector::Kind::kName;
    } else if (kind == "scope") {
      out.kind = Selector::Kind::kScope;
    } else if (kind == "region") {
      out.kind = Selector::Kind::kRegion;
    } else {
      return UsageError(absl::StrCat("selector '", text, "' has kind '", kind, "', needs type, name, scope or region"));
    }
  }
  if (out.pattern.empty()) return UsageError(absl::StrCat("selector '", text, "' is empty"));
  return out;
}

absl::Status CheckSelectors(const std::vector<Selector>& selectors, const Program& program) {
  std::vector<bool> hit(selectors.size(), false);
  std::set<std::string> words;
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op) || selectors.empty()) return;
    for (size_t i = 0; i < selectors.size(); ++i) {
      if (!hit[i]) hit[i] = selectors[i].Matches(op);
    }
    words.insert(op.type());
    for (const Var* var : op.outputs()) words.insert(var->name());
  });
  for (size_t i = 0; i < selectors.size(); ++i) {
    if (hit[i]) continue;
    const std::vector<std::string> known(words.begin(), words.end());
    return UsageError(absl::StrCat("selector '", selectors[i].text, "' matches no op of the program", Suggest(selectors[i].pattern, known)));
  }
  return absl::OkStatus();
}

}  // namespace ampc
