#include "tools/cli/file_extension.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

absl::Status CheckExtension(absl::string_view option, const std::string& path, absl::string_view extension, absl::string_view what) {
  if (path.empty() || absl::EndsWith(path, extension)) return absl::OkStatus();
  return UsageError(
      absl::StrCat(option, ": found '", path, "', needed a name that ends in ", extension, ", for ", what, " that is written"));
}

}  // namespace ampc
