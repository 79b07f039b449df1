// NamePattern: a glob or a regular expression that a whole name has to match.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc {

// `*` any run of characters, `?` one, `[a-z]` one of these, `[!a-z]` none of these. A `[` without its `]` stands for itself.
bool GlobMatch(absl::string_view pattern, absl::string_view text);

class NamePattern {
 public:
  static NamePattern Glob(absl::string_view text);
  // A usage error says what is wrong with it. Matching takes time linear in the name: no back references.
  static absl::StatusOr<NamePattern> Regex(absl::string_view text);

  // A name that equals the text matches whatever the text means as a glob.
  bool Matches(absl::string_view name) const;

 private:
  std::string text_;
  std::optional<std::regex> regex_;
};

}  // namespace ampc
