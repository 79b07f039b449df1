#include "tools/cli/command.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

void AddJsonFlag(const Options& options, bool* json) { options.Flag("--json", *json, "print one JSON object instead of text"); }

absl::Status NotSupportedYet(const std::string& option, const std::string& supported) {
  return UnsupportedError(absl::StrCat(option, " is not supported by this version; ", supported));
}

}  // namespace ampc
