#include "tools/c_api/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/error.h"
#include "tools/cli/peer_options.h"

namespace ampc::c_api {
namespace {

bool IsReserved(const std::string& key) { return key == "output" || key == "input" || key == "help" || key.size() < 2; }

std::vector<std::string> Keys(const Options& options) {
  std::vector<std::string> keys = options.LongNames();
  keys.erase(std::remove_if(keys.begin(), keys.end(), IsReserved), keys.end());
  return keys;
}

// As on the command line, without dashes.
std::string Hint(const std::string& key, const std::vector<std::string>& keys) {
  std::vector<std::string> with_dashes;
  for (const std::string& known : keys) with_dashes.push_back(absl::StrCat("--", known));
  const std::string peer = absl::StrReplaceAll(PeerHint(absl::StrCat("--", key), with_dashes), {{" --", " "}});
  return peer.empty() ? Suggest(key, keys) : peer;
}

}  // namespace

absl::Status ParseOptions(const Options& known, const std::vector<std::string>& arguments, absl::Span<const ampc_option> given,
                          std::vector<std::string> words) {
  const std::vector<std::string> keys = Keys(known);
  for (const ampc_option& option : given) {
    if (std::find(keys.begin(), keys.end(), option.key) == keys.end())
      return UsageError(absl::StrCat("there is no option '", option.key, "'", Hint(option.key, keys)));
    words.push_back(absl::StrCat("--", option.key, "=", option.value));
  }
  words.push_back("--");
  words.insert(words.end(), arguments.begin(), arguments.end());
  return known.Parse(std::move(words));
}

}  // namespace ampc::c_api
