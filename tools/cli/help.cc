#include "tools/cli/help.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ampc {
namespace {

constexpr size_t kColumn = 34;  // where help begins
constexpr size_t kWidth = 120;

// The words of `text` in lines from kColumn on, the first behind what stands there already.
std::string Wrapped(absl::string_view text) {
  std::string out;
  size_t at = kColumn;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (at > kColumn && at + 1 + word.size() > kWidth) {
      absl::StrAppend(&out, "\n", std::string(kColumn, ' '));
      at = kColumn;
    }
    absl::StrAppend(&out, at > kColumn ? " " : "", word);
    at += word.size() + (at > kColumn ? 1 : 0);
  }
  return out;
}

// "FILE", "{fp16,bf16}", "N": what an option's value is. The library says "TEXT", "TEXT:{a,b}" or "INT:INT in [1 - 9]" where nobody said
// it.
std::string ValueOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open != std::string::npos && close != std::string::npos && open < close) return type.substr(open, close + 1 - open);
  const std::string kind = type.substr(0, type.find(':'));
  if (kind == "INT" || kind == "UINT") return "N";
  if (kind == "FLOAT") return "X";
  return kind == "TEXT" ? absl::AsciiStrToUpper(option.get_single_name()) : kind;
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    std::string needed;
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->nonpositional() && o->get_required(); }))
      absl::StrAppend(&needed, " ", option->get_snames().empty() ? "--" + option->get_single_name() : "-" + option->get_snames()[0], " ",
                      ValueOf(*option));
    return absl::StrCat(usage.substr(0, usage.find_last_not_of('\n') + 1), needed, "\n");
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return absl::StrCat(make_description(app), make_usage(app, std::move(name)), make_positionals(app), OptionsUnderHeadings(*app),
                        make_subcommands(app, mode), "\n", make_footer(app));
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string name = absl::StrCat("  ", is_positional ? option->get_name(true, false) : Names(*option));
    const std::string gap = name.size() < kColumn ? std::string(kColumn - name.size(), ' ') : "\n" + std::string(kColumn, ' ');
    return absl::StrCat(name, gap, Wrapped(Description(*option, is_positional)), "\n");
  }

  std::string make_subcommand(const CLI::App* verb) const override {
    const std::string name = absl::StrCat("  ", verb->get_name());
    return absl::StrCat(name, std::string(kColumn - name.size(), ' '), Wrapped(verb->get_description()), "\n");
  }

 private:
  std::string OptionsUnderHeadings(const CLI::App& app) const {
    std::vector<std::string> headings = app.get_groups();
    std::stable_partition(headings.begin(), headings.end(), [](const std::string& heading) { return heading != "Options"; });
    std::string out;
    for (const std::string& heading : headings) {
      const auto options = app.get_options([&](const CLI::Option* o) { return o->nonpositional() && o->get_group() == heading; });
      if (!options.empty()) absl::StrAppend(&out, make_group(heading, false, options));
    }
    return out;
  }
  // "-o, --output FILE"
  static std::string Names(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames()) absl::StrAppend(&names, names.empty() ? "-" : ", -", name);
    for (const std::string& name : option.get_lnames()) absl::StrAppend(&names, names.empty() ? "--" : ", --", name);
    return option.get_items_expected_max() == 0 ? names : absl::StrCat(names, " ", ValueOf(option));
  }
  static std::string Description(const CLI::Option& option, bool is_positional) {
    std::string text = option.get_description();
    if (!is_positional && option.get_required()) text += " (required)";
    const std::string set = option.get_items_expected_max() == 0 ? "" : option.get_default_str();
    return set.empty() ? text : absl::StrCat(text, " (default: ", set, ")");
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> HelpFormatter() { return std::make_shared<Formatter>(); }

}  // namespace ampc
