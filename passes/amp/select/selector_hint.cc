#include "passes/amp/select/selector_hint.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/formats/onnx/node_names.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/select/name_pattern.h"
#include "passes/amp/select/original_names.h"

namespace ampc {
namespace {

using Kind = SelectorTerm::Kind;
using Words = std::set<std::string>;

constexpr size_t kNear = 3;   // names that are offered
constexpr size_t kThere = 8;  // names that are listed

struct Vocabulary {
  Words types, defined, read, blocks, scopes, regions;
};

Vocabulary VocabularyOf(const Program& program) {
  Vocabulary out;
  const OriginalNames names(program);
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op)) return;
    out.types.insert(std::string(onnx::TypeName(op.def())));
    for (const Var* var : op.outputs()) out.defined.insert(names.Of(*var).exported());
    for (const Var* var : op.inputs()) out.read.insert(names.Of(*var).exported());
    out.blocks.insert(op.block().name());
    if (const std::string scope = op.GetString("op_namescope"); !scope.empty()) out.scopes.insert(scope);
    if (const absl::string_view node = onnx::NodeName(program, op); !node.empty()) out.defined.emplace(node);
    for (std::string& scope : onnx::NodeScopes(program, op)) out.scopes.insert(std::move(scope));
    if (op.marks.guard != 0) out.regions.insert(absl::StrCat(op.marks.guard));
  });
  return out;
}

std::string Quoted(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) absl::StrAppend(&out, i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", "'", names[i], "'");
  return out;
}

// Names that a typing error away, then those that contain the longest run of letters of the pattern.
std::vector<std::string> Nearest(const std::string& pattern, const Words& words) {
  const std::vector<std::string> all(words.begin(), words.end());
  const std::string best = Suggest(pattern, all);
  std::vector<std::string> near;
  for (const std::string& word : all) {
    const std::string one = Suggest(pattern, std::vector<std::string>{word});
    if (!one.empty()) near.insert(one == best ? near.begin() : near.end(), word);
  }
  if (near.empty()) {
    std::string core;
    for (size_t begin = 0; begin < pattern.size();) {
      const size_t end = std::min(pattern.find_first_of("*?[]\\.+(){}|", begin), pattern.size());
      if (end - begin > core.size()) core = pattern.substr(begin, end - begin);
      begin = end + 1;
    }
    for (const std::string& word : all) {
      if (core.size() >= 3 && absl::StrContains(word, core)) near.push_back(word);
    }
  }
  if (near.size() > kNear) near.resize(kNear);
  return near;
}

std::string There(absl::string_view what, const Words& words) {
  if (words.empty()) return absl::StrCat("; it has no ", what);
  std::vector<std::string> some(words.begin(), words.end());
  const bool more = some.size() > kThere;
  if (more) some.resize(kThere);
  return absl::StrCat("; its ", what, " are ", absl::StrJoin(some, ", "), more ? ", ..." : "");
}

const std::string* FirstMatch(const SelectorTerm& term, const Words& words) {
  for (const std::string& word : words) {
    if (term.pattern->Matches(word)) return &word;
  }
  return nullptr;
}

// For a term that names a type or a value, or both.
std::string NameHint(const SelectorTerm& term, const Vocabulary& has) {
  const bool takes_types = term.kind == Kind::kType || term.kind == Kind::kTypeOrName || term.kind == Kind::kRegex;
  const bool takes_names = term.kind == Kind::kName || term.kind == Kind::kTypeOrName || term.kind == Kind::kRegex;
  if (const std::string* type = FirstMatch(term, has.types); type != nullptr && !takes_types)
    return absl::StrCat("; '", *type, "' is an op type: type:", term.text);
  if (const std::string* name = FirstMatch(term, has.defined); name != nullptr && !takes_names)
    return absl::StrCat("; '", *name, "' is a value: name:", term.text);
  if (const std::string* name = FirstMatch(term, has.read); name != nullptr && term.kind != Kind::kReads) {
    return absl::StrCat("; no op defines '", *name, "', but some read it: reads:", *name);
  }
  Words words;
  if (takes_types) words.insert(has.types.begin(), has.types.end());
  if (takes_names) words.insert(has.defined.begin(), has.defined.end());
  if (term.kind == Kind::kReads) words = has.read;
  const std::vector<std::string> near = Nearest(term.text, words);
  if (!near.empty()) return absl::StrCat(", did you mean ", Quoted(near), "?");
  return takes_types ? There("op types", has.types) : "";
}

}  // namespace

std::string SelectorHint(const SelectorTerm& term, const Program& program) {
  const Vocabulary has = VocabularyOf(program);
  if (!term.of.empty()) {
    const SelectorTerm& of = term.of[0];
    const std::string* start = of.pattern == nullptr ? nullptr : FirstMatch(of, has.read);
    if (term.kind == Kind::kUpstream && start != nullptr)
      return absl::StrCat("; '", *start, "' is a feed or a weight, nothing leads to it");
    return SelectorHint(of, program);
  }
  switch (term.kind) {
    case Kind::kBlock: return There("blocks with ops", has.blocks);
    case Kind::kScope: return There("name scopes", has.scopes);
    case Kind::kRegion: return There("fp16_guard regions", has.regions);
    default: return NameHint(term, has);
  }
}

}  // namespace ampc
