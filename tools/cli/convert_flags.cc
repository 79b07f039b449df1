#include "tools/cli/convert_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

// Options that the design has and this version does not.
absl::Status CheckSupported(const ConvertFlags& flags) {
  if (flags.request.options.level == "auto") return NotSupportedYet("--level auto", "O0, O1 and O2 are");
  if (!flags.compat.empty()) return NotSupportedYet("--compat", "convert decides by ampc's own rules; 'ampc opt --passes=amp-decide{mode=paddle-2.6}' prints Paddle's decision");
  if (!flags.request.options.exclude.empty()) return NotSupportedYet("--exclude", "--black-list takes op types, --black-vars takes value names");
  if (!flags.include.empty()) return NotSupportedYet("--include", "--white-list takes op types");
  if (!flags.calibrate.empty()) return NotSupportedYet("--calibrate", "ranges of weights are looked at without it");
  if (!flags.plan.empty()) return NotSupportedYet("--plan", "--report writes every decision");
  if (!flags.report.empty() && !absl::EndsWith(flags.report, ".json") && !absl::EndsWith(flags.report, ".html")) {
    return UsageError(absl::StrCat("--report is '", flags.report, "', a .json or .html file is needed"));
  }
  return absl::OkStatus();
}

void AddLists(CLI::App& app, ConvertFlags& flags) {
  ConvertOptions& o = flags.request.options;
  app.add_option("--white-list", o.white_list, "op types that become low")->delimiter(',');
  app.add_option("--black-list", o.black_list, "op types that stay fp32")->delimiter(',');
  app.add_option("--black-vars", o.black_vars, "values whose readers and writers stay fp32")->delimiter(',');
  app.add_option("--exclude", o.exclude, "selector of ops that stay fp32 (not in this version)");
  app.add_option("--include", flags.include, "selector of ops that become low (not in this version)");
}

}  // namespace

void AddConvertOptions(CLI::App& app, ConvertFlags& flags) {
  ConvertRequest& r = flags.request;
  ConvertOptions& o = r.options;
  app.add_option("model", r.input, "a .pdmodel, .ampc or .prog file, or a directory with __model__")->required();
  app.add_option("--output,-o", r.output, "the converted model; the ending chooses the format")->required();
  app.add_option("--dtype", flags.dtype, "fp16 or bf16")->capture_default_str();
  app.add_option("--level", o.level, "O0: nothing; O1: matrix products and what follows them; O2: all that is safe")
      ->check(CLI::IsMember({"O0", "O1", "O2", "auto"}))
      ->capture_default_str();
  app.add_flag("--keep-io", flags.keep_io, "feeds and fetches keep their types (the default)");
  app.add_flag("--low-io", o.low_io, "float feeds and fetches become low too");
  app.add_flag("--guard", o.guard, "only ops inside an fp16_guard become low");
  app.add_flag("--promote", o.promote, "an op becomes low only if none of its operands stays fp32");
  AddLists(app, flags);
  app.add_option("--on-overflow", o.on_overflow, "weights beyond the range: clamp, keep (infinity) or error")->check(CLI::IsMember({"clamp", "keep", "error"}))->capture_default_str();
  app.add_option("--on-tiny", o.on_tiny, "weights below the smallest normal value: subnormal, flush or keep (never zero)")
      ->check(CLI::IsMember({"subnormal", "flush", "keep"}))
      ->capture_default_str();
  app.add_option("--target", r.target, "the device whose support for low precision counts")->check(CLI::IsMember({"cuda", "cpu"}))->capture_default_str();
  app.add_option("--params", r.params, "file with the weights");
  app.add_option("--params-output", r.params_output, "where the converted weights go");
  app.add_flag("--program-only", r.program_only, "a program without its weights");
  app.add_option("--report", flags.report, "write every decision, cast and weight to this .json file, or as a page to this .html file");
  app.add_flag("--no-sync", r.no_sync, "do not wait for the disk");
  app.add_option("--compat", flags.compat, "another system's decisions (not in this version)")
      ->check(CLI::IsMember({"paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"}));
  app.add_option("--calibrate", flags.calibrate, "measure ranges on these inputs (not in this version)");
  app.add_option("--plan", flags.plan, "read the decision from a file (not in this version)");
}

absl::Status ResolveConvertFlags(ConvertFlags& flags) {
  AMPC_RETURN_IF_ERROR(CheckSupported(flags));
  const std::optional<DType> dtype = ParseDType(flags.dtype);
  if (!dtype.has_value() || !IsLowPrecision(*dtype)) return UsageError(absl::StrCat("--dtype is '", flags.dtype, "', fp16 or bf16 is needed"));
  flags.request.options.dtype = *dtype;
  if (flags.keep_io && flags.request.options.low_io) return UsageError("--keep-io and --low-io contradict each other");
  return absl::OkStatus();
}

}  // namespace ampc
