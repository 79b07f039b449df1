#include "tools/cli/convert_flags.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/plan.h"
#include "tools/cli/command.h"
#include "tools/cli/convert_config.h"
#include "tools/cli/feed_options.h"
#include "tools/report/html_report.h"

namespace ampc {
namespace {

// Feeds and fetches: both options alone, or with names.
absl::Status ResolveIo(ConvertFlags& flags) {
  struct Side {
    bool all = false;
    std::vector<std::string> names;
  };
  const auto read = [](const std::vector<std::string>& values) {
    Side side;
    for (const std::string& value : values) {
      if (value == "true") side.all = true;
      if (value == "true" || value == "false") continue;
      for (absl::string_view name : absl::StrSplit(value, ',', absl::SkipWhitespace()))
        side.names.emplace_back(absl::StripAsciiWhitespace(name));
    }
    return side;
  };
  const Side keep = read(flags.keep_io), low = read(flags.low_io);
  if (keep.all && low.all) return UsageError("--keep-io and --low-io contradict each other");
  for (const auto& [name, side] : {std::pair("--keep-io", &keep), std::pair("--low-io", &low)}) {
    if (side->all && !side->names.empty())
      return UsageError(absl::StrCat(name, " alone means all, with names only these: one of the two is needed"));
  }
  flags.options.low_io = low.all || (!keep.names.empty() && low.names.empty());
  flags.options.keep_io = keep.names;
  flags.options.low_io_names = low.names;
  return absl::OkStatus();
}

// How files are read, and times of ops.
constexpr absl::string_view kReading[] = {"params", "mean", "std", "channels", "profile"};

// The result of an op depends on it.
bool DecidesSomething(const ConvertOption& row) {
  return row.scope != OptionScope::kRun || *row.chosen_by != '\0' || std::ranges::find(kReading, row.name) != std::end(kReading);
}

// Those that decide: a model that was converted before is held against them.
std::set<std::string> GivenOptions(const Options& options) {
  std::set<std::string> given;
  for (const ConvertOption& option : ConvertOptionTable()) {
    const bool other = *option.chosen_by != '\0';
    if (option.scope != OptionScope::kDecides && !other) continue;
    if (options.Given(absl::StrCat("--", option.name))) given.insert(other ? option.chosen_by : option.name);
  }
  for (const char* io : {"low-io", "keep-io"}) {
    if (given.contains(io)) given.insert({"low-io", "keep-io"});
  }
  return given;
}

struct Declare {
  const Options& options;  // under the row's heading
  const ConvertOption& row;
  ConvertFlags& flags;

  std::string Name() const { return absl::StrCat("--", row.name); }
  template <typename T>
  DeclaredOption Add(T& value) const {
    const DeclaredOption declared = options.Add(Name(), value, row.help);
    if (*row.shown != '\0') return declared.Values(row.shown);
    return row.scope == OptionScope::kRun ? declared.Values("FILE") : declared;
  }
  void operator()(DType ConvertOptions::*) const { Add(flags.dtype).AnyCaseOf({"fp16", "bf16"}).Values("{fp16,bf16}").ShowDefault(); }
  void operator()(int ConvertOptions::*member) const { Add(flags.options.*member).NotNegative().ShowDefault(); }
  void operator()(bool ConvertOptions::*member) const { options.Flag(Name(), flags.options.*member, row.help); }
  void operator()(std::string ConvertOptions::*member) const {
    std::string& value = flags.options.*member;
    const DeclaredOption declared = Add(value);
    if (row.values.empty()) return;
    declared.OneOf(row.values);
    if (std::find(row.values.begin(), row.values.end(), value) != row.values.end()) declared.ShowDefault();
  }
  void operator()(std::vector<std::string> ConvertOptions::*member) const {
    const DeclaredOption declared = Add(flags.options.*member).OneValueEach();
    if (row.split) declared.SplitAtCommas();
  }
  void operator()() const {
    if (row.form == OptionForm::kFlagOrNames) {
      options.Flag(Name(), absl::string_view(row.name) == "low-io" ? flags.low_io : flags.keep_io, row.help);
    } else {
      std::visit(*this, row.member);
    }
  }
};

// `all`: also those that only say what is written.
void AddRows(const Options& options, bool all, ConvertFlags& flags) {
  flags.options.level.clear();  // the default is the mode's
  std::vector<ConvertOption> rows = ConvertOptionTable();
  std::stable_sort(rows.begin(), rows.end(), [](const ConvertOption& a, const ConvertOption& b) { return a.heading < b.heading; });
  for (const ConvertOption& row : rows) {
    if (row.form != OptionForm::kNone && (all || DecidesSomething(row))) Declare{options.Under(Name(row.heading)), row, flags}();
  }
  const Options files = options.Under(Name(OptionHeading::kFiles));
  files.Add("--config", flags.config, "take options from this JSON file; those of the command line win").Values("FILE");
}

}  // namespace

void AddConvertOptions(const Options& options, ConvertFlags& flags) {
  options.Add("model", flags.options.model, kModelHelp).Required();
  const Options basic = options.Under(Name(OptionHeading::kBasic));
  basic.Add("--output,-o", flags.options.output, "the converted model; the extension chooses the format").Required().Values("FILE");
  AddRows(options, true, flags);
}

void AddDecidingOptions(const Options& options, ConvertFlags& flags) {
  options.Add("model", flags.options.model, kModelHelp).Required();
  AddRows(options, false, flags);
}

void AddExplainOptions(const Options& options, ExplainFlags& flags) {
  AddDecidingOptions(options, flags.convert);
  const Options shown = options.Under("What is shown");
  shown.Add("--op", flags.ops, "only these ops, in full: a selector, several times or with commas").OneValueEach().Values("SELECTOR");
  shown.Add("--why-cast", flags.cast, "only the casts of this value").Values("VALUE");
}

absl::Status ResolveConvertFlags(const Options& options, ConvertFlags& flags, std::vector<std::string> inputs) {
  if (!flags.config.empty()) AMPC_RETURN_IF_ERROR(ApplyConvertConfig(flags.config, options));
  if (!flags.options.plan.empty()) {
    AMPC_ASSIGN_OR_RETURN(Plan plan, ReadPlan(flags.options.plan));
    AMPC_RETURN_IF_ERROR(ApplyConvertConfig(plan.config, flags.options.plan, options));
    flags.options.planned = std::make_shared<const Plan>(std::move(plan));
  }
  inputs.insert(inputs.end(), flags.options.calibrate.begin(), flags.options.calibrate.end());
  AMPC_RETURN_IF_ERROR(CheckPictureFlags(options, inputs, true));
  const std::optional<DType> dtype = ParseDType(flags.dtype);
  if (!dtype.has_value() || !IsLowPrecision(*dtype))
    return UsageError(absl::StrCat("--dtype is '", flags.dtype, "', fp16 or bf16 is needed"));
  flags.options.dtype = *dtype;
  flags.options.given = GivenOptions(options);
  flags.options.also_read = {flags.config};
  flags.options.page = ReportHtml;
  return ResolveIo(flags);
}

}  // namespace ampc
