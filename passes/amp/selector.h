// Selector: which ops the user means: `softmax` or `type:softmax`, `name:fc_0.tmp_*` (a value the op defines, `*` matches
// anything), `scope:/encoder/` (start of the op's name scope), `region:2` (fp16_guard region).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc {

struct Selector {
  enum class Kind { kTypeOrName, kType, kName, kScope, kRegion };
  Kind kind = Kind::kTypeOrName;
  std::string pattern;
  std::string text;  // as written

  bool Matches(const Op& op) const;
};

// A usage error for an unknown kind or an empty pattern.
absl::StatusOr<Selector> ParseSelector(absl::string_view text);
// A usage error naming the first selector that matches no op of the program, with a suggestion.
absl::Status CheckSelectors(const std::vector<Selector>& selectors, const Program& program);

// `*` matches any run of characters.
bool GlobMatch(absl::string_view pattern, absl::string_view text);

}  // namespace ampc
