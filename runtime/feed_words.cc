#include "runtime/feed_words.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

absl::StatusOr<std::vector<double>> NumbersOf(absl::string_view option, const std::vector<std::string>& words) {
  std::vector<double> numbers;
  for (const std::string& word : words) {
    if (!absl::SimpleAtod(word, &numbers.emplace_back())) return UsageError(absl::StrCat(option, ": found '", word, "', needed a number"));
  }
  return numbers;
}

}  // namespace

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

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ParseDimsOptions(const std::vector<std::string>& dims) {
  std::map<std::string, std::vector<int64_t>> parsed;
  for (const std::string& text : dims) {
    AMPC_ASSIGN_OR_RETURN(auto given, ParseDimsOption(text));
    parsed[given.first] = std::move(given.second);
  }
  return parsed;
}

absl::StatusOr<FeedOptions> ParseFeedWords(const FeedWords& words) {
  FeedOptions options;
  AMPC_ASSIGN_OR_RETURN(options.dims, ParseDimsOptions(words.dims));
  AMPC_ASSIGN_OR_RETURN(options.pictures.mean, NumbersOf("--mean", words.mean));
  AMPC_ASSIGN_OR_RETURN(options.pictures.deviation, NumbersOf("--std", words.deviation));
  options.pictures.bgr = words.channels == "BGR";
  AMPC_RETURN_IF_ERROR(CheckPictureOptions(options.pictures));
  return options;
}

}  // namespace ampc
