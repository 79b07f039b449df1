#include "runtime/convert/options.h"

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
using enum OptionScope;
using O = ConvertOptions;

constexpr int kMostProbeRuns = 100;
constexpr char kDecide[] = "amp-decide", kUpgrade[] = "upgrade-onnx-opset", kProtect[] = "protect", kMeasure[] = "measure";
constexpr char kCast[] = "cast-parameters-to-fp16";

// clang-format off
std::vector<ConvertOption> MakeTable() {
  return {
      {"dtype", kText, kDecides, &O::dtype, "fp16 or bf16", {},
       {{kDecide, "dtype", true}, {kUpgrade, "dtype", true}, {kProtect, "dtype", true}, {kMeasure, "dtype", true}}},
      {"level", kText, kDecides, &O::level,
       "O0: nothing; O1: matrix products and what follows them; O2: all that is safe; OD, with paddle-2.6: the white list alone. "
       "auto: of O2 what is predicted to be fastest on the target. Default O2, with --compat that release's own: O1",
       {"O0", "OD", "O1", "O2", "auto"}, {{kDecide, "level", true}}},
      {"compat", kText, kDecides, &O::mode, "decide as this Paddle release does; its lists and levels, not ampc's",
       {"paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"}, {{kDecide, "mode"}}},
      {"low-io", kFlagOrNames, kDecides, &O::low_io, "float feeds and fetches become low too; --low-io=a,b: only these do",
       {}, {{kDecide, "low-io"}}},
      {"keep-io", kFlagOrNames, kDecides, &O::keep_io, "feeds and fetches keep their types (the default); --keep-io=a,b: only these do", {},
       {{kDecide, "keep-io"}}},
      {"low-io-names", kNone, kDecides, &O::low_io_names, "", {}, {{kDecide, "low-io-names"}}, "low-io"},
      {"guard", kFlag, kDecides, &O::guard, "only ops inside an fp16_guard become low", {}, {{kDecide, "guard"}}},
      {"promote", kFlag, kDecides, &O::promote, "an op becomes low only if none of its operands stays fp32", {}, {{kDecide, "promote"}}},
      {"white-list", kList, kDecides, &O::white_list, "op types that become low where nothing protects them",
       {}, {{kDecide, "white-list"}}, "", true},
      {"black-list", kList, kDecides, &O::black_list, "op types that stay fp32",
       {}, {{kDecide, "black-list"}, {kUpgrade, "black-list"}}, "", true},
      {"black-vars", kList, kDecides, &O::black_vars, "values whose readers and writers stay fp32",
       {}, {{kDecide, "black-vars"}}, "", true},
      {"classes", kNone, kDecides, &O::classes, "", {}, {{kDecide, "classes"}}},
      {"include", kList, kDecides, &O::include, "selector of ops that become low, whatever else says fp32", {},
       {{kDecide, "include", false, ";"}, {kUpgrade, "include", false, ";"}}},
      {"exclude", kList, kDecides, &O::exclude, "selector of ops that stay fp32 (see below), several times or with commas", {},
       {{kDecide, "exclude", false, ";"}, {kUpgrade, "exclude", false, ";"}}},
      {"on-overflow", kText, kDecides, &O::on_overflow, "weights beyond the range: clamp, keep (infinity) or error",
       {"clamp", "keep", "error"}, {{kCast, "on_overflow", true}}},
      {"on-tiny", kText, kDecides, &O::on_tiny, "weights below the smallest normal value: subnormal, flush or keep (never zero)",
       {"subnormal", "flush", "keep"}, {{kCast, "on_tiny", true}, {kProtect, "on_tiny"}}},
      {"target", kText, kDecides, &O::target, "device whose low types and whose time count: this machine's CPU, or a GPU (cuda: cuda:8.0)",
       TargetNames()},
      {"runtime", kText, kDecides, &O::runtime, "executes the result: what it cannot compute low stays fp32; sets --target",
       RuntimeNames()},
      {"input-range", kList, kDecides, &O::input_ranges,
       "the values of a feed lie between these: what is proven for them needs no protection", {}, {{kProtect, "input_ranges", false, ""}}},
      {"probe", kNumber, kDecides, &O::probe,
       "run the model so often on made inputs, and keep fp32 what leaves the range or vanishes on them", {}, {{kMeasure, "probe"}}},
      {"ranges", kNone, kDecides, &O::ranged},
      {"plan", kNone, kDecides, &O::plan_digest},
      {"params", kText, kRun, &O::params, "file with the weights"},
      {"params-output", kText, kRun, &O::params_output, "where the converted weights go"},
      {"program-only", kFlag, kConfig, &O::program_only, "a program without its weights"},
      {"report", kText, kRun, &O::report, "write every decision, cast and weight to this .json file, or as a page to this .html file"},
      {"no-sync", kFlag, kRun, &O::no_sync, "do not wait for the disk"},
      {"write-config", kText, kRun, &O::write_config, "write the options in effect, for --config"},
      {"calibrate", kList, kRun, &O::calibrate,
       "run the model on these inputs (.npz, one file a run) and keep fp32 what leaves the range or vanishes", {},
       {{kMeasure, "inputs", false, ""}}, "ranges"},
      {"plan-out", kText, kRun, &O::plan_out,
       "write every decision to this JSON file, to be read, edited, compared and given back with --plan"},
      {"plan", kText, kRun, &O::plan, "take options and decisions from this file; decisions that fit no op of the model are listed", {},
       {{"use-plan", "file", false, ""}}, "plan"},
      {"save-ranges", kText, kRun, &O::save_ranges, "write the measured ranges of values to this JSON file, for --ranges"},
      {"ranges", kText, kRun, &O::ranges, "ranges of values that an earlier --calibrate measured",
       {}, {{kMeasure, "ranges", false, ""}}, "ranges"},
  };
}
// clang-format on

absl::Status CheckSupported(const ConvertOptions& o) {
  const bool page = absl::EndsWith(o.report, ".html") && o.page != nullptr;
  if (o.report.empty() || absl::EndsWith(o.report, ".json") || page) return absl::OkStatus();
  return UsageError(absl::StrCat("--report is '", o.report, "', a .json ", o.page == nullptr ? "" : "or .html ", "file is needed"));
}

// Whose decisions, and at which level.
absl::Status ResolveLevel(ConvertOptions* o) {
  if (o->mode == "own") {
    if (o->level.empty()) o->level = "O2";
    if (o->level != "auto" || !o->promote) return absl::OkStatus();
    return UsageError("--promote contradicts --level auto, which decides by what casts cost");
  }
  if (o->target != "cuda") {
    return UsageError(absl::StrCat("--target ", o->target, " contradicts --compat ", o->mode,
                                   ", which decides by the kernels of that release's GPU build"));
  }
  if (o->level == "auto")
    return UsageError(absl::StrCat("--level auto contradicts --compat ", o->mode, ", whose decisions are not ampc's"));
  const bool levels = o->mode != "paddle-inference-2.6";
  if (!levels && (o->level == "O1" || o->level == "OD")) {
    return UsageError(absl::StrCat("--level ", o->level, ": ", o->mode, " has one way to convert and no levels"));
  }
  if (o->level.empty()) o->level = levels ? "O1" : "O2";
  return absl::OkStatus();
}

// A runtime chooses the target.
absl::Status ResolveRuntime(ConvertOptions* o) {
  const Runtime* runtime = FindRuntime(o->runtime);
  if (runtime == nullptr) {
    return UsageError(absl::StrCat("--runtime is '", o->runtime, "', one of ", absl::StrJoin(RuntimeNames(), ", "), " is needed"));
  }
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

const std::vector<ConvertOption>& ConvertOptionTable() {
  static const std::vector<ConvertOption> table = MakeTable();
  return table;
}

absl::Status ResolveConvertOptions(ConvertOptions* options) {
  AMPC_RETURN_IF_ERROR(CheckSupported(*options));
  AMPC_RETURN_IF_ERROR(ResolveRuntime(options));
  AMPC_RETURN_IF_ERROR(ResolveLevel(options));
  if (!IsLowPrecision(options->dtype)) return UsageError(absl::StrCat("--dtype is ", Name(options->dtype), ", fp16 or bf16 is needed"));
  AMPC_RETURN_IF_ERROR(CheckRanges(*options));
  AMPC_RETURN_IF_ERROR(CheckInputRanges(*options));
  AMPC_RETURN_IF_ERROR(CheckPlan(*options));
  if (options->probe < 0 || options->probe > kMostProbeRuns) {
    return UsageError(absl::StrCat("--probe is ", options->probe, ", a number from 0 to ", kMostProbeRuns, " is needed"));
  }
  return CheckSelectors(*options);
}

}  // namespace ampc
