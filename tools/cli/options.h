// Options: what a verb can be told, as it declares it. Hides the library that parses the command line: its header takes seconds to compile,
// so that only the few files that speak to it directly include it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ampc {

// An option that was declared, for what else there is to say about it.
class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option* option) : option_(option) {}
  DeclaredOption Required() const;
  DeclaredOption ShowDefault() const;                               // --help prints the value that the variable has now
  DeclaredOption OneOf(std::vector<std::string> values) const;      // whatever their case: the variable gets them as they stand here
  DeclaredOption AnyCaseOf(std::vector<std::string> values) const;  // the same, but other values are let through
  template <typename T>                                             // int, int64_t, double
  DeclaredOption Between(T low, T high) const;
  DeclaredOption Positive() const;
  DeclaredOption NotNegative() const;
  DeclaredOption Excludes(const std::string& other) const;  // an option that was declared before
  DeclaredOption SplitAtCommas() const;
  DeclaredOption OneValueEach() const;  // a list gets one value each time that the option is given, not all words behind it
  DeclaredOption Values(const std::string& shown) const;  // "FILE", or "{a,b}", which completion offers: for --help, without a check

 private:
  CLI::Option* option_;
};

// A handle: copies declare and read the same options.
class Options {
 public:
  explicit Options(CLI::App& verb);           // not owned
  explicit Options(const std::string& name);  // belong to no command line
  // The same options; --help shows what is declared with this handle under that heading, in the order of the first of each.
  Options Under(std::string heading) const;

  // An argument ("model") or an option ("--output,-o") that sets `value`, which has to live as long as these options: a string, a list of
  // them, int, int64_t, uint64_t, double, a list of int64_t or an optional double.
  template <typename T>
  DeclaredOption Add(const std::string& names, T& value, const std::string& help = "") const;
  // One without a value ("--json", "--group,!--no-group"); a list of strings gets "true" for the flag alone, else what stands behind `=`.
  template <typename T>
  DeclaredOption Flag(const std::string& names, T& value, const std::string& help) const;

  // For options of no command line: UsageError for words that do not fit.
  absl::Status Parse(std::vector<std::string> words) const;
  void Forget() const;  // what was parsed or given

  std::vector<std::string> LongNames() const;  // without dashes
  bool Has(const std::string& name) const;     // "--name"
  bool Given(const std::string& name) const;
  // As if "--name" with these words stood on the command line; BadInputError, which does not name it, where it refuses them.
  absl::Status Give(const std::string& name, std::vector<std::string> words) const;
  // The options that were given, as a line for a shell: `ampc convert in.pdmodel --output out.pdmodel`.
  std::string CommandLine() const;

  CLI::App& app() const { return *app_; }

 private:
  std::shared_ptr<CLI::App> app_;
  std::string heading_;  // "" for that of all verbs
};

}  // namespace ampc
