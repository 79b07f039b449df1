// Selector: how a user names ops. The grammar; select_ops.h says which ops of a program it means.
//
//   list     = selector { ("," | ";") selector }   a comma in brackets or behind a backslash separates nothing
//   selector = term { " & " term }             the ops for which every term holds
//   term     = GLOB                            op type, or name of a value that the op defines
//            | "type:" GLOB | "name:" GLOB     only the one or the other; an ONNX op's type is `Conv`, and `onnx.Conv.11` too
//            | "reads:" GLOB                   name of a value or weight that the op reads
//            | "regex:" RE                     the whole op type or the whole name of a value that the op defines
//            | "block:" GLOB                   number or name of the block that the op stands in
//            | "scope:" TEXT                   start of the op's name scope
//            | "region:" GLOB                  number of the fp16_guard region, counted from 1
//            | "upstream:" term                those ops, and what their operands are computed from
//            | "downstream:" term              those ops, and what is computed from their results
//
// GLOB: `*` any run of characters, `?` one, `[a-z]` one of these, `[!a-z]` none of these; nothing else is special. RE: ECMAScript
// without back references, matched in full. A term behind upstream or downstream may also name a feed or a weight.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "passes/pass.h"

namespace ampc {

class NamePattern;  // a compiled glob or regular expression

struct SelectorTerm {
  enum class Kind : uint8_t { kTypeOrName, kType, kName, kReads, kRegex, kBlock, kScope, kRegion, kUpstream, kDownstream };
  Kind kind = Kind::kTypeOrName;
  std::string text;  // the pattern as written, without the kind
  std::shared_ptr<const NamePattern> pattern;
  std::vector<SelectorTerm> of;  // one, of upstream and downstream
};

struct Selector {
  std::string text;  // as written
  std::vector<SelectorTerm> terms;
};

// Usage errors: an unknown kind (with the nearest), an empty pattern, a regular expression that is none.
absl::StatusOr<Selector> ParseSelector(absl::string_view text);
absl::StatusOr<std::vector<Selector>> ParseSelectorList(absl::string_view text);
// That of a pass's option; none when it is absent.
absl::StatusOr<std::vector<Selector>> SelectorOption(const PassOptions& options, absl::string_view name);

// Does a term of any of the selectors, at any depth, have this kind?
bool HasKind(const std::vector<Selector>& selectors, SelectorTerm::Kind kind);

}  // namespace ampc
