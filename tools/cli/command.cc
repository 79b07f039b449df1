#include "tools/cli/command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

std::string ShellWord(absl::string_view word) {
  constexpr absl::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == absl::string_view::npos) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string CommandLine(const CLI::App& app) {
  std::string values, options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const bool flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      if (option->get_positional()) {
        absl::StrAppend(&values, " ", ShellWord(value));
      } else {
        absl::StrAppend(&options, " ", option->get_name(), flag && value == "true" ? "" : absl::StrCat(flag ? "=" : " ", ShellWord(value)));
      }
    }
  }
  return absl::StrCat("ampc ", app.get_name(), values, options);
}

void AddJsonFlag(CLI::App& app, bool* json) { app.add_flag("--json", *json, "print one JSON object instead of text"); }

absl::Status NotSupportedYet(const std::string& option, const std::string& supported) {
  return UnsupportedError(absl::StrCat(option, " is not supported by this version; ", supported));
}

}  // namespace ampc
