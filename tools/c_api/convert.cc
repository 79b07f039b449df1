// ampc_convert: the options of the command line, declared and checked by the same code.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/c_api/ampc.h"
#include "tools/c_api/errors.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/convert_run.h"
#include "tools/cli/options.h"

namespace ampc::c_api {
namespace {

// These are not the caller's to give: arguments of ampc_convert, and what only a command line has.
bool IsReserved(const std::string& key) { return key == "output" || key == "help" || key.size() < 2; }

std::vector<std::string> Keys(const Options& options) {
  std::vector<std::string> keys = options.LongNames();
  keys.erase(std::remove_if(keys.begin(), keys.end(), IsReserved), keys.end());
  return keys;
}

// The command line that says the same.
absl::StatusOr<std::vector<std::string>> Words(const Options& known, const std::string& input, const std::string& output, absl::Span<const ampc_option> options) {
  std::vector<std::string> words = {"--output=" + output};
  const std::vector<std::string> keys = Keys(known);
  for (const ampc_option& option : options) {
    if (std::find(keys.begin(), keys.end(), option.key) == keys.end()) return UsageError(absl::StrCat("there is no option '", option.key, "'", Suggest(option.key, keys)));
    words.push_back(absl::StrCat("--", option.key, "=", option.value));
  }
  words.push_back("--");
  words.push_back(input);
  return words;
}

absl::Status Convert(const std::string& input, const std::string& output, absl::Span<const ampc_option> options) {
  ConvertFlags flags;
  const Options known("convert");
  AddConvertOptions(known, flags);
  AMPC_ASSIGN_OR_RETURN(std::vector<std::string> words, Words(known, input, output, options));
  AMPC_RETURN_IF_ERROR(known.Parse(std::move(words)));
  flags.request.command = known.CommandLine();
  AMPC_RETURN_IF_ERROR(ResolveConvertFlags(known, flags));
  return RunConvert(flags).status();
}

}  // namespace
}  // namespace ampc::c_api

ampc_code ampc_convert(const char* input, const char* output, const ampc_option* options, size_t num_options) {
  using namespace ampc::c_api;
  return Call("ampc_convert", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(input, "input"));
    AMPC_RETURN_IF_ERROR(Need(output, "output"));
    AMPC_RETURN_IF_ERROR(CheckOptions(options, num_options));
    return Convert(input, output, absl::MakeConstSpan(options, num_options));
  });
}
