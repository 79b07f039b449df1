#include "tools/cli/convert_flags.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/select/selector.h"
#include "tools/cli/command.h"
#include "tools/cli/convert_config.h"

namespace ampc {
namespace {

// Options that the design has and this version does not.
absl::Status CheckSupported(const ConvertFlags& flags) {
  if (flags.request.options.level == "auto") return NotSupportedYet("--level auto", "O0, O1 and O2 are");
  if (!flags.plan.empty()) return NotSupportedYet("--plan", "--report writes every decision");
  if (!flags.report.empty() && !absl::EndsWith(flags.report, ".json") && !absl::EndsWith(flags.report, ".html")) {
    return UsageError(absl::StrCat("--report is '", flags.report, "', a .json or .html file is needed"));
  }
  return absl::OkStatus();
}

// What is measured and what ranges are read only counts where ampc decides itself.
absl::Status CheckRanges(const ConvertFlags& flags) {
  const ConvertRequest& r = flags.request;
  if (!r.save_ranges.empty() && flags.calibrate.empty()) return UsageError("--save-ranges needs --calibrate: it writes what was measured");
  if (flags.calibrate.empty() && r.ranges.empty()) return absl::OkStatus();
  const char* option = flags.calibrate.empty() ? "--ranges" : "--calibrate";
  if (!flags.compat.empty()) return UsageError(absl::StrCat(option, " contradicts --compat ", flags.compat, ", which looks at no values"));
  if (r.options.level == "O0") return UsageError(absl::StrCat(option, " needs --level O1 or O2: nothing becomes low at O0"));
  if (r.program_only && !flags.calibrate.empty()) return UsageError("--calibrate contradicts --program-only: a run needs the weights");
  return absl::OkStatus();
}

// Feeds and fetches: both options alone, or with names.
absl::Status ResolveIo(const ConvertFlags& flags, ConvertOptions& options) {
  struct Side {
    bool all = false;
    std::vector<std::string> names;
  };
  const auto read = [](const std::vector<std::string>& values) {
    Side side;
    for (const std::string& value : values) {
      if (value == "true") side.all = true;
      if (value == "true" || value == "false") continue;
      for (absl::string_view name : absl::StrSplit(value, ',', absl::SkipWhitespace())) side.names.emplace_back(absl::StripAsciiWhitespace(name));
    }
    return side;
  };
  const Side keep = read(flags.keep_io), low = read(flags.low_io);
  if (keep.all && low.all) return UsageError("--keep-io and --low-io contradict each other");
  for (const auto& [name, side] : {std::pair("--keep-io", &keep), std::pair("--low-io", &low)}) {
    if (side->all && !side->names.empty()) return UsageError(absl::StrCat(name, " alone means all, with names only these: one of the two is needed"));
  }
  options.low_io = low.all || (!keep.names.empty() && low.names.empty());
  options.keep_io = keep.names;
  options.low_io_names = low.names;
  return absl::OkStatus();
}

// A typing error is found before the model is read.
absl::Status ResolveSelectors(ConvertOptions& options) {
  for (const auto& [name, list] : {std::pair("--include", &options.include), std::pair("--exclude", &options.exclude)}) {
    for (const std::string& text : *list) {
      const absl::StatusOr<std::vector<Selector>> selectors = ParseSelectorList(text);
      if (!selectors.ok()) return Annotate(selectors.status(), name);
      if (selectors->empty()) return UsageError(absl::StrCat(name, " is empty, a selector is needed"));
    }
  }
  if (!options.include.empty() && options.level == "O0") return UsageError("--include needs --level O1 or O2: nothing becomes low at O0");
  return absl::OkStatus();
}

void AddLists(const Options& options, ConvertFlags& flags) {
  ConvertOptions& o = flags.request.options;
  const auto list = [&options](const char* name, std::vector<std::string>& values, const char* help) { return options.Add(name, values, help).OneValueEach(); };
  list("--white-list", o.white_list, "op types that become low where nothing protects them").SplitAtCommas();
  list("--black-list", o.black_list, "op types that stay fp32").SplitAtCommas();
  list("--black-vars", o.black_vars, "values whose readers and writers stay fp32").SplitAtCommas();
  list("--exclude", o.exclude, "selector of ops that stay fp32 (see below), several times or with commas");
  list("--include", o.include, "selector of ops that become low, whatever else says fp32");
}

// Whose decisions, and at which level.
absl::Status ResolveCompat(ConvertFlags& flags) {
  ConvertOptions& o = flags.request.options;
  if (flags.compat.empty()) {
    if (o.level.empty()) o.level = "O2";
    return absl::OkStatus();
  }
  o.mode = flags.compat;
  if (flags.request.target != "cuda") {
    return UsageError(absl::StrCat("--target ", flags.request.target, " contradicts --compat ", flags.compat, ", which decides by the kernels of that release's GPU build"));
  }
  const bool levels = flags.compat != "paddle-inference-2.6";
  if (!levels && (o.level == "O1" || o.level == "OD")) {
    return UsageError(absl::StrCat("--level ", o.level, ": ", flags.compat, " has one way to convert and no levels"));
  }
  if (o.level.empty()) o.level = levels ? "O1" : "O2";
  return absl::OkStatus();
}

// Those that decide: a model that was converted before is held against them.
std::set<std::string> GivenOptions(const Options& options) {
  std::set<std::string> given;
  for (const char* name : {"dtype", "level", "compat", "guard", "promote", "white-list", "black-list", "black-vars", "include", "exclude", "on-overflow",
                           "on-tiny", "target"}) {
    if (options.Given(absl::StrCat("--", name))) given.insert(name);
  }
  if (options.Given("--low-io") || options.Given("--keep-io")) given.insert({"low-io", "keep-io"});
  if (options.Given("--ranges") || options.Given("--calibrate")) given.insert("ranges");
  return given;
}

}  // namespace

void AddConvertOptions(const Options& options, ConvertFlags& flags) {
  ConvertRequest& r = flags.request;
  ConvertOptions& o = r.options;
  options.Add("model", r.input, kModelHelp).Required();
  options.Add("--output,-o", r.output, "the converted model; the ending chooses the format").Required();
  options.Add("--dtype", flags.dtype, "fp16 or bf16").AnyCaseOf({"fp16", "bf16"}).Values("{fp16,bf16}").ShowDefault();
  o.level.clear();  // ResolveCompat fills in the default
  options.Add("--level", o.level,
                 "O0: nothing; O1: matrix products and what follows them; O2: all that is safe; OD, with paddle-2.6: the white list alone. "
                 "Default O2, with --compat that release's own: O1")
      .OneOf({"O0", "OD", "O1", "O2", "auto"});
  options.Flag("--keep-io", flags.keep_io, "feeds and fetches keep their types (the default); --keep-io=a,b: only these do");
  options.Flag("--low-io", flags.low_io, "float feeds and fetches become low too; --low-io=a,b: only these do");
  options.Flag("--guard", o.guard, "only ops inside an fp16_guard become low");
  options.Flag("--promote", o.promote, "an op becomes low only if none of its operands stays fp32");
  AddLists(options, flags);
  options.Add("--on-overflow", o.on_overflow, "weights beyond the range: clamp, keep (infinity) or error").OneOf({"clamp", "keep", "error"}).ShowDefault();
  options.Add("--on-tiny", o.on_tiny, "weights below the smallest normal value: subnormal, flush or keep (never zero)")
      .OneOf({"subnormal", "flush", "keep"})
      .ShowDefault();
  options.Add("--target", r.target, "the device whose support for low precision counts").OneOf({"cuda", "cpu"}).ShowDefault();
  options.Add("--params", r.params, "file with the weights");
  options.Add("--params-output", r.params_output, "where the converted weights go");
  options.Flag("--program-only", r.program_only, "a program without its weights");
  options.Add("--report", flags.report, "write every decision, cast and weight to this .json file, or as a page to this .html file");
  options.Flag("--no-sync", r.no_sync, "do not wait for the disk");
  options.Add("--config", flags.config, "take options from this JSON file; those of the command line win");
  options.Add("--write-config", flags.write_config, "write the options in effect, for --config");
  options.Add("--compat", flags.compat, "decide as this Paddle release does; its lists and levels, not ampc's")
      .OneOf({"paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"});
  options.Add("--calibrate", flags.calibrate, "run the model on these inputs (.npz, one file a run) and keep fp32 what leaves the range or vanishes")
      .OneValueEach();
  options.Add("--save-ranges", r.save_ranges, "write the measured ranges of values to this JSON file, for --ranges");
  options.Add("--ranges", r.ranges, "ranges of values that an earlier --calibrate measured");
  options.Add("--plan", flags.plan, "read the decision from a file (not in this version)");
}

absl::Status ResolveConvertFlags(const Options& options, ConvertFlags& flags) {
  if (!flags.config.empty()) AMPC_RETURN_IF_ERROR(ApplyConvertConfig(flags.config, options));
  flags.request.given = GivenOptions(options);
  AMPC_RETURN_IF_ERROR(CheckSupported(flags));
  AMPC_RETURN_IF_ERROR(ResolveCompat(flags));
  const std::optional<DType> dtype = ParseDType(flags.dtype);
  if (!dtype.has_value() || !IsLowPrecision(*dtype)) return UsageError(absl::StrCat("--dtype is '", flags.dtype, "', fp16 or bf16 is needed"));
  flags.request.options.dtype = *dtype;
  AMPC_RETURN_IF_ERROR(CheckRanges(flags));
  AMPC_RETURN_IF_ERROR(ResolveIo(flags, flags.request.options));
  return ResolveSelectors(flags.request.options);
}

}  // namespace ampc
