#include "runtime/convert/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/protect/bounds.h"
#include "passes/amp/select/selector.h"
#include "passes/analysis/runtimes.h"
#include "passes/analysis/target_support.h"

namespace ampc {
namespace {

using enum OptionForm;
using enum OptionHeading;
using enum OptionScope;
using O = ConvertOptions;

constexpr int kMostProbeRuns = 100;
constexpr char kDecide[] = "amp-decide", kUpgrade[] = "upgrade-onnx-opset", kProtect[] = "protect", kMeasure[] = "measure";
constexpr char kCast[] = "cast-parameters-to-fp16", kRescale[] = "rescale-weights";

// clang-format off
std::vector<ConvertOption> OptionsThatDecide() {
  return {
      {"dtype", kText, kDecides, &O::dtype, kBasic, "fp16 or bf16", {},
       {{kDecide, "dtype", true}, {kUpgrade, "dtype", true}, {kProtect, "dtype", true}, {kMeasure, "dtype", true}}},
      {"level", kText, kDecides, &O::level, kBasic,
       "O0: nothing; O1: matrix products and what follows them; O2: all that is safe; OD, with paddle-2.6: the white list alone. "
       "auto: of O2 what is predicted to be fastest on the target. Default O2, with --compat that release's own: O1",
       {"O0", "OD", "O1", "O2", "auto"}, {{kDecide, "level", true}}},
      {"compat", kText, kDecides, &O::mode, kPaddle, "decide as this Paddle release does; its lists and levels, not ampc's",
       {"paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"}, {{kDecide, "mode"}}},
      {"low-io", kFlagOrNames, kDecides, &O::low_io, kBasic, "float feeds and fetches become low too; --low-io=a,b: only these do",
       {}, {{kDecide, "low-io"}}},
      {"keep-io", kFlagOrNames, kDecides, &O::keep_io, kBasic,
       "feeds and fetches keep their types (the default); --keep-io=a,b: only these do",
       {}, {{kDecide, "keep-io"}}},
      {"low-io-names", kNone, kDecides, &O::low_io_names, kBasic, "", {}, {{kDecide, "low-io-names"}}, "low-io"},
      {"guard", kFlag, kDecides, &O::guard, kPaddle, "only ops inside an fp16_guard become low", {}, {{kDecide, "guard"}}},
      {"promote", kFlag, kDecides, &O::promote, kSelection, "an op becomes low only if none of its operands stays fp32",
       {}, {{kDecide, "promote"}}},
      {"white-list", kList, kDecides, &O::white_list, kSelection, "op types that become low where nothing protects them",
       {}, {{kDecide, "white-list"}}, "", true, "TYPES"},
      {"black-list", kList, kDecides, &O::black_list, kSelection, "op types that stay fp32",
       {}, {{kDecide, "black-list"}, {kUpgrade, "black-list"}}, "", true, "TYPES"},
      {"black-vars", kList, kDecides, &O::black_vars, kSelection, "values whose readers and writers stay fp32",
       {}, {{kDecide, "black-vars"}}, "", true, "NAMES"},
      {"classes", kNone, kDecides, &O::classes, kBasic, "", {}, {{kDecide, "classes"}}},
      {"include", kList, kDecides, &O::include, kSelection, "selector of ops that become low, whatever else says fp32", {},
       {{kDecide, "include", false, ";"}, {kUpgrade, "include", false, ";"}}, "", false, "SELECTOR"},
      {"exclude", kList, kDecides, &O::exclude, kSelection, "selector of ops that stay fp32 (see below), several times or with commas", {},
       {{kDecide, "exclude", false, ";"}, {kUpgrade, "exclude", false, ";"}}, "", false, "SELECTOR"},
      {"on-overflow", kText, kDecides, &O::on_overflow, kWeights, "weights beyond the range: clamp, keep (infinity) or error",
       {"clamp", "keep", "error"}, {{kCast, "on_overflow", true}}},
      {"on-tiny", kText, kDecides, &O::on_tiny, kWeights, "weights below the smallest normal value: subnormal, flush or keep (never zero)",
       {"subnormal", "flush", "keep"}, {{kCast, "on_tiny", true}, {kProtect, "on_tiny"}, {kRescale, "on_tiny"}}},
      {"rescale", kFlag, kDecides, &O::rescale, kWeights,
       "multiply weights that overflow or vanish in fp16 by a power of two, where what follows can take it back exactly"},
      {"target", kText, kDecides, &O::target, kSelection,
       "device whose low types and whose time count: this machine's CPU, or a GPU (cuda: cuda:8.0)",
       TargetNames()},
      {"runtime", kText, kDecides, &O::runtime, kSelection, "executes the result: what it cannot compute low stays fp32; sets --target",
       RuntimeNames()},
      {"input-range", kList, kDecides, &O::input_ranges, kRuns,
       "the values of a feed lie between these: what is proven for them needs no protection", {},
       {{kProtect, "input_ranges", false, ""}, {kMeasure, "input_ranges", false, ""}},
       "", false, "NAME=LOW:HIGH"},
      {"dims", kList, kConfig, &O::feed_dims, kRuns,
       "dims of a feed that leaves some open: for these time is predicted, inputs are made, and pictures read", {}, {}, "", false,
       "NAME=1,3,224,224"},
      {"probe", kNumber, kDecides, &O::probe, kRuns,
       "run the model so often on made inputs, and keep fp32 what leaves the range or vanishes on them", {}, {{kMeasure, "probe"}}},
      {"ranges", kNone, kDecides, &O::ranged},
      {"plan", kNone, kDecides, &O::plan_digest},
  };
}

std::vector<ConvertOption> OptionsOfARun() {
  return {
      {"params", kText, kRun, &O::params, kWeights, "file with the weights"},
      {"params-output", kText, kRun, &O::params_output, kWeights, "where the converted weights go"},
      {"program-only", kFlag, kConfig, &O::program_only, kWeights, "a program without its weights"},
      {"report", kText, kRun, &O::report, kFiles,
       "write every decision, cast and weight to this .json file, or as a page to this .html file"},
      {"no-sync", kFlag, kRun, &O::no_sync, kFiles, "do not wait for the disk"},
      {"write-config", kText, kRun, &O::write_config, kFiles, "write the options in effect, for --config"},
      {"calibrate", kList, kRun, &O::calibrate, kRuns,
       "run the model on these inputs (one file a run: .npz, .safetensors; .npy or a picture for a model with one feed) and keep fp32 what "
       "leaves the range or vanishes", {},
       {{kMeasure, "inputs", false, ""}}, "ranges"},
      {"mean", kList, kRun, &O::mean, kRuns,
       "subtracted from pictures, whose values are 0 to 1: one number, or one per channel: 0.485,0.456,0.406",
       {}, {}, "", true, "NUMBERS"},
      {"std", kList, kRun, &O::deviation, kRuns, "pictures are divided by it after that: 0.229,0.224,0.225", {}, {}, "", true, "NUMBERS"},
      {"channels", kText, kRun, &O::channels, kRuns, "which channel of pictures comes first", {"RGB", "BGR"}},
      {"profile", kText, kRun, &O::profile, kRuns,
       "times of ops that `ampc profile` measured, in the place of predicted ones; cached: those of this machine"},
      {"plan-out", kText, kRun, &O::plan_out, kFiles,
       "write every decision to this JSON file, to be read, edited, compared and given back with --plan"},
      {"plan", kText, kRun, &O::plan, kFiles,
       "take options and decisions from this file; decisions that fit no op of the model are listed", {},
       {{"use-plan", "file", false, ""}}, "plan"},
      {"save-ranges", kText, kRun, &O::save_ranges, kRuns, "write the measured ranges of values to this JSON file, for --ranges"},
      {"ranges", kText, kRun, &O::ranges, kRuns, "ranges of values that an earlier --calibrate measured",
       {}, {{kMeasure, "ranges", false, ""}}, "ranges"},
  };
}
// clang-format on

absl::Status CheckSupported(const ConvertOptions& o) {
  const bool page = absl::EndsWith(o.report, ".html") && o.page != nullptr;
  if (o.report.empty() || absl::EndsWith(o.report, ".json") || page) return absl::OkStatus();
  return UsageError(absl::StrCat("--report is '", o.report, "', a .json ", o.page == nullptr ? "" : "or .html ", "file is needed"));
}

// A text is the default or one of the row's values.
absl::Status CheckValues(const ConvertOptions& o) {
  const ConvertOptions defaults;
  for (const ConvertOption& row : ConvertOptionTable()) {
    const auto* member = std::get_if<std::string ConvertOptions::*>(&row.member);
    if (member == nullptr || row.values.empty()) continue;
    const std::string& text = o.**member;
    if (text == defaults.**member || std::find(row.values.begin(), row.values.end(), text) != row.values.end()) continue;
    return UsageError(absl::StrCat("--", row.name, " is '", text, "', one of ", absl::StrJoin(row.values, ", "), " is needed"));
  }
  return absl::OkStatus();
}

bool HasLevels(const ConvertOptions& o) { return o.mode != "paddle-inference-2.6"; }

// Whose decisions, and at which level.
absl::Status CheckLevel(const ConvertOptions& o) {
  if (o.mode == "own") {
    if (o.level != "auto" || !o.promote) return absl::OkStatus();
    return UsageError("--promote contradicts --level auto, which decides by what casts cost");
  }
  if (o.target != "cuda") {
    return UsageError(absl::StrCat("--target ", o.target, " contradicts --compat ", o.mode,
                                   ", which decides by the kernels of that release's GPU build"));
  }
  if (o.level == "auto") return UsageError(absl::StrCat("--level auto contradicts --compat ", o.mode, ", whose decisions are not ampc's"));
  if (!HasLevels(o) && (o.level == "O1" || o.level == "OD")) {
    return UsageError(absl::StrCat("--level ", o.level, ": ", o.mode, " has one way to convert and no levels"));
  }
  return absl::OkStatus();
}

// A runtime chooses the target.
absl::Status ResolveRuntime(ConvertOptions* o) {
  const Runtime* runtime = FindRuntime(o->runtime);
  if (runtime->target.empty()) return absl::OkStatus();
  if (o->mode != "own") return UsageError(absl::StrCat("--runtime contradicts --compat ", o->mode, ", whose decisions are not ampc's"));
  const bool fits = absl::StartsWith(o->target, runtime->target);
  const bool chosen = o->given.has_value() ? o->given->contains("target") : o->target != ConvertOptions().target;
  if (!fits && chosen) {
    return UsageError(absl::StrCat("--target ", o->target, " contradicts --runtime ", o->runtime, ", which is for ", runtime->target));
  }
  if (!fits) o->target = std::string(runtime->target);
  return absl::OkStatus();
}

// Measured ranges and range files only count if ampc decides itself.
absl::Status CheckRanges(const ConvertOptions& o) {
  if (!o.save_ranges.empty() && o.calibrate.empty()) return UsageError("--save-ranges needs --calibrate: it writes what was measured");
  if (o.calibrate.empty() && o.ranges.empty()) return absl::OkStatus();
  const char* option = o.calibrate.empty() ? "--ranges" : "--calibrate";
  if (o.mode != "own") return UsageError(absl::StrCat(option, " contradicts --compat ", o.mode, ", which looks at no values"));
  if (o.level == "O0") return UsageError(absl::StrCat(option, " needs --level O1 or O2: nothing becomes low at O0"));
  if (o.program_only && !o.calibrate.empty()) return UsageError("--calibrate contradicts --program-only: a run needs the weights");
  return absl::OkStatus();
}

absl::Status CheckInputRanges(const ConvertOptions& o) {
  if (o.input_ranges.empty()) return absl::OkStatus();
  if (o.mode != "own") return UsageError(absl::StrCat("--input-range contradicts --compat ", o.mode, ", which looks at no values"));
  if (o.level == "O0") return UsageError("--input-range needs --level O1 or O2: nothing becomes low at O0");
  const absl::Status parsed = ParseInputRanges(o.input_ranges).status();
  return parsed.ok() ? parsed : Annotate(parsed, "--input-range");
}

absl::Status CheckRescale(const ConvertOptions& o) {
  if (!o.rescale) return absl::OkStatus();
  if (o.dtype == DType::kBF16) return UsageError("--rescale contradicts --dtype bf16, which has the range of fp32");
  if (o.level == "O0") return UsageError("--rescale needs --level O1 or O2: nothing becomes low at O0");
  if (o.program_only) return UsageError("--rescale contradicts --program-only: it changes weights");
  if (!o.ranges.empty()) return UsageError("--rescale contradicts --ranges: they were measured before, --calibrate measures behind it");
  return absl::OkStatus();
}

absl::Status CheckPlan(const ConvertOptions& o) {
  if (o.plan.empty() && o.plan_out.empty()) return absl::OkStatus();
  const char* option = o.plan.empty() ? "--plan-out" : "--plan";
  if (o.mode != "own") return UsageError(absl::StrCat(option, " contradicts --compat ", o.mode, ", whose decisions are not ampc's"));
  if (o.level == "O0") return UsageError(absl::StrCat(option, " needs --level O1 or O2: nothing is decided at O0"));
  if (o.plan.empty() || (o.calibrate.empty() && o.ranges.empty())) return absl::OkStatus();
  return UsageError(absl::StrCat("--plan contradicts ", o.calibrate.empty() ? "--ranges" : "--calibrate", ": it has what was measured"));
}

// A typing error is found before the model is read.
absl::Status CheckSelectors(const ConvertOptions& o) {
  for (const auto& [name, list] : {std::pair("--include", &o.include), std::pair("--exclude", &o.exclude)}) {
    for (const std::string& text : *list) {
      const absl::StatusOr<std::vector<Selector>> selectors = ParseSelectorList(text);
      if (!selectors.ok()) return Annotate(selectors.status(), name);
      if (selectors->empty()) return UsageError(absl::StrCat(name, " is empty, a selector is needed"));
    }
  }
  if (!o.include.empty() && o.level == "O0") return UsageError("--include needs --level O1 or O2: nothing becomes low at O0");
  return absl::OkStatus();
}

}  // namespace

const char* Name(OptionHeading heading) {
  switch (heading) {
    case kBasic: return "Basic";
    case kSelection: return "Selection of ops";
    case kRuns: return "Values of runs";
    case kWeights: return "Weights";
    case kFiles: return "Files";
    case kPaddle: break;
  }
  return "Paddle";
}

const std::vector<ConvertOption>& ConvertOptionTable() {
  static const std::vector<ConvertOption> table = [] {
    std::vector<ConvertOption> rows = OptionsThatDecide();
    const std::vector<ConvertOption> others = OptionsOfARun();
    rows.insert(rows.end(), others.begin(), others.end());
    return rows;
  }();
  return table;
}

absl::Status ResolveConvertOptions(ConvertOptions* options) {
  AMPC_RETURN_IF_ERROR(CheckSupported(*options));
  if (options->level.empty()) options->level = options->mode == "own" || !HasLevels(*options) ? "O2" : "O1";
  AMPC_RETURN_IF_ERROR(CheckValues(*options));
  AMPC_RETURN_IF_ERROR(ResolveRuntime(options));
  AMPC_RETURN_IF_ERROR(CheckLevel(*options));
  if (!IsLowPrecision(options->dtype)) return UsageError(absl::StrCat("--dtype is ", Name(options->dtype), ", fp16 or bf16 is needed"));
  AMPC_RETURN_IF_ERROR(CheckRanges(*options));
  AMPC_RETURN_IF_ERROR(CheckInputRanges(*options));
  AMPC_RETURN_IF_ERROR(CheckRescale(*options));
  AMPC_RETURN_IF_ERROR(CheckPlan(*options));
  if (options->probe < 0 || options->probe > kMostProbeRuns) {
    return UsageError(absl::StrCat("--probe is ", options->probe, ", a number from 0 to ", kMostProbeRuns, " is needed"));
  }
  return CheckSelectors(*options);
}

}  // namespace ampc
