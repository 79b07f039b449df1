#include "tools/c_api/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc::c_api {
namespace {

bool IsReserved(const std::string& key) { return key == "output" || key == "input" || key == "help" || key.size() < 2; }

std::vector<std::string> Keys(const Options& options) {
  std::vector<std::string> keys = options.LongNames();
  keys.erase(std::remove_if(keys.begin(), keys.end(), IsReserved), keys.end());
  return keys;
}

}  // namespace

absl::Status ParseOptions(const Options& known, const std::vector<std::string>& arguments, absl::Span<const ampc_option> given,
                          std::vector<std::string> words) {
  const std::vector<std::string> keys = Keys(known);
  for (const ampc_option& option : given) {
    if (std::find(keys.begin(), keys.end(), option.key) == keys.end())
      return UsageError(absl::StrCat("there is no option '", option.key, "'", Suggest(option.key, keys)));
    words.push_back(absl::StrCat("--", option.key, "=", option.value));
  }
  words.push_back("--");
  words.insert(words.end(), arguments.begin(), arguments.end());
  return known.Parse(std::move(words));
}

}  // namespace ampc::c_api
