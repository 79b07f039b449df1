#include "tools/cli/options.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

std::string ShellWord(absl::string_view word) {
  constexpr absl::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == absl::string_view::npos) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

CLI::Option* PutUnder(CLI::Option* option, const std::string& heading) { return heading.empty() ? option : option->group(heading); }

CLI::Option* NeedNumber(CLI::Option* option, const std::function<bool(double)>& fits, const std::string& needed) {
  return option->check([=](const std::string& text) {
    double value = 0;
    return absl::SimpleAtod(text, &value) && fits(value) ? "" : absl::StrCat("found '", text, "', needed ", needed);
  });
}

}  // namespace

DeclaredOption DeclaredOption::Required() const { return DeclaredOption(option_->required()); }
DeclaredOption DeclaredOption::ShowDefault() const { return DeclaredOption(option_->capture_default_str()); }
DeclaredOption DeclaredOption::OneOf(std::vector<std::string> values) const {
  return DeclaredOption(option_->transform(CLI::IsMember(std::move(values), CLI::ignore_case)));
}
DeclaredOption DeclaredOption::AnyCaseOf(std::vector<std::string> values) const {
  return DeclaredOption(option_->transform([values = std::move(values)](const std::string& given) {
    const auto same = [&given](const std::string& value) { return absl::EqualsIgnoreCase(given, value); };
    const auto at = std::find_if(values.begin(), values.end(), same);
    return at == values.end() ? given : *at;
  }));
}
template <typename T>
DeclaredOption DeclaredOption::Between(T low, T high) const {
  return DeclaredOption(NeedNumber(
      option_, [=](double v) { return v >= static_cast<double>(low) && v <= static_cast<double>(high); },
      absl::StrCat("a number from ", low, " to ", high)));
}
template DeclaredOption DeclaredOption::Between(int, int) const;
template DeclaredOption DeclaredOption::Between(int64_t, int64_t) const;
template DeclaredOption DeclaredOption::Between(double, double) const;
DeclaredOption DeclaredOption::Positive() const {
  return DeclaredOption(NeedNumber(
      option_, [](double v) { return v > 0; }, "a number above 0"));
}
DeclaredOption DeclaredOption::NotNegative() const {
  return DeclaredOption(NeedNumber(
      option_, [](double v) { return v >= 0; }, "0 or more"));
}
DeclaredOption DeclaredOption::Excludes(const std::string& other) const { return DeclaredOption(option_->excludes(other)); }
DeclaredOption DeclaredOption::SplitAtCommas() const { return DeclaredOption(option_->delimiter(',')); }
DeclaredOption DeclaredOption::OneValueEach() const { return DeclaredOption(option_->allow_extra_args(false)); }
DeclaredOption DeclaredOption::Values(const std::string& shown) const { return DeclaredOption(option_->type_name(shown)); }

Options::Options(CLI::App& verb) : app_(&verb, [](CLI::App*) {}) {}
Options::Options(const std::string& name) : app_(std::make_shared<CLI::App>("", name)) {}

Options Options::Under(std::string heading) const {
  Options under = *this;
  under.heading_ = std::move(heading);
  return under;
}

template <typename T>
DeclaredOption Options::Add(const std::string& names, T& value, const std::string& help) const {
  return DeclaredOption(PutUnder(app_->add_option(names, value, help), heading_));
}
template DeclaredOption Options::Add(const std::string&, std::string&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, std::vector<std::string>&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, std::vector<int64_t>&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, int&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, int64_t&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, uint64_t&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, double&, const std::string&) const;
template DeclaredOption Options::Add(const std::string&, std::optional<double>&, const std::string&) const;

template <typename T>
DeclaredOption Options::Flag(const std::string& names, T& value, const std::string& help) const {
  return DeclaredOption(PutUnder(app_->add_flag(names, value, help), heading_));
}
template DeclaredOption Options::Flag(const std::string&, bool&, const std::string&) const;
template DeclaredOption Options::Flag(const std::string&, std::vector<std::string>&, const std::string&) const;

absl::Status Options::Parse(std::vector<std::string> words) const {
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }
  return absl::OkStatus();
}

void Options::Forget() const { app_->clear(); }

std::vector<std::string> Options::LongNames() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

bool Options::Has(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

bool Options::Given(const std::string& name) const {
  const CLI::Option* option = std::as_const(*app_).get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

absl::Status Options::Give(const std::string& name, std::vector<std::string> words) const {
  CLI::Option* option = app_->get_option_no_throw(name);
  if (option == nullptr) return InternalError(absl::StrCat("there is no option ", name));
  try {
    option->add_result(std::move(words));
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    return BadInputError(error.what());
  }
  return absl::OkStatus();
}

std::string Options::CommandLine() const {
  std::string values, options;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
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
  return absl::StrCat("ampc ", app_->get_name(), values, options);
}

}  // namespace ampc
