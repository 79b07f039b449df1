#include "tools/cli/dims_option.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace ampc {

absl::StatusOr<std::pair<std::string, std::vector<int64_t>>> ParseDimsOption(absl::string_view text) {
  const absl::Status error = UsageError(absl::StrCat("--dims: found '", text, "', needed NAME=1,3,48,320"));
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) return error;
  std::vector<int64_t> dims;
  for (const absl::string_view word : absl::StrSplit(text.substr(equals + 1), absl::ByAnyChar(",x"), absl::SkipWhitespace())) {
    if (!absl::SimpleAtoi(word, &dims.emplace_back()) || dims.back() < 0) return error;
  }
  return std::pair(std::string(text.substr(0, equals)), std::move(dims));
}

}  // namespace ampc
