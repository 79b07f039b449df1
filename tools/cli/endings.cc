#include "tools/cli/endings.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

absl::Status CheckEnding(absl::string_view option, const std::string& path, absl::string_view ending, absl::string_view what) {
  if (path.empty() || absl::EndsWith(path, ending)) return absl::OkStatus();
  return UsageError(absl::StrCat(option, ": found '", path, "', needed a name that ends in ", ending, ", for ", what, " that is written"));
}

}  // namespace ampc
