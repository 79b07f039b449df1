// ampc convert: a model in mixed precision.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "tools/cli/command.h"
#include "tools/cli/convert_model.h"
#include "tools/cli/outputs.h"

namespace ampc {
namespace {

struct ConvertFlags {
  ConvertRequest request;
  std::string dtype = "fp16";
  std::string compat;
  bool keep_io = false;
  std::vector<std::string> include, calibrate;
  std::string report;
  std::string plan;
  bool json = false;
};

// Options that the design has and this version does not.
absl::Status CheckSupported(const ConvertFlags& flags) {
  if (flags.request.options.level == "auto") return NotSupportedYet("--level auto", "O0, O1 and O2 are");
  if (!flags.compat.empty()) return NotSupportedYet("--compat", "convert decides by ampc's own rules; 'ampc opt --passes=amp-decide{mode=paddle-2.6}' prints Paddle's decision");
  if (!flags.request.options.exclude.empty()) return NotSupportedYet("--exclude", "--black-list takes op types, --black-vars takes value names");
  if (!flags.include.empty()) return NotSupportedYet("--include", "--white-list takes op types");
  if (!flags.calibrate.empty()) return NotSupportedYet("--calibrate", "ranges of weights are looked at without it");
  if (!flags.plan.empty()) return NotSupportedYet("--plan", "--report writes every decision");
  if (!flags.report.empty() && !absl::EndsWith(flags.report, ".json")) return NotSupportedYet("--report with another ending than .json", "a .json report is");
  return absl::OkStatus();
}

std::string Damage(const ConvertResult& result) {
  WeightDamage sum;
  int converted = 0;  // without those that were stored low before
  for (const AmpWeightEntry& w : result.report.weights) {
    converted += w.damage.elements > 0 ? 1 : 0;
    sum.elements += w.damage.elements;
    sum.clamped += w.damage.clamped;
    sum.flushed += w.damage.flushed;
    sum.subnormal += w.damage.subnormal;
  }
  return absl::StrCat(converted, " weights converted, ", sum.elements, " values: ", sum.clamped, " clamped, ", sum.flushed, " became zero, ",
                      sum.subnormal, " subnormal");
}

void PrintText(Console& console, const ConvertFlags& flags, const ConvertResult& result) {
  const ModelFacts& after = result.after;
  std::string out = absl::StrCat(flags.request.output, ": ", HumanBytes(result.bytes_before), " -> ", HumanBytes(result.bytes_after), " in ",
                                 HumanSeconds(result.seconds()), "\n");
  absl::StrAppend(&out, "  ops: ", after.low_ops, " ", flags.dtype, ", ", after.float_ops - after.low_ops, " fp32, ", after.num_ops - after.float_ops - after.casts,
                  " without floats; conv and matmul flops ", after.FlopsText(), "\n");
  absl::StrAppend(&out, "  casts: ", after.inserted_casts, " inserted, ", after.casts - after.inserted_casts, " of the model's own\n");
  absl::StrAppend(&out, "  ", Damage(result), "\n");
  console.Out(out);
}

void PrintJson(Console& console, const ConvertFlags& flags, const ConvertResult& result) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("input", flags.request.input).Field("output", flags.request.output).Field("dtype", flags.dtype);
  json.Field("level", flags.request.options.level).Field("bytes_before", result.bytes_before).Field("bytes_after", result.bytes_after);
  json.Field("load_seconds", result.load_seconds).Field("pass_seconds", result.pass_seconds).Field("save_seconds", result.save_seconds);
  json.Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray().Key("after").BeginObject();
  result.after.Write(json);
  json.EndObject().EndObject();
  console.Out(json.Take() + "\n");
}

absl::Status Run(ConvertFlags flags, Console& console) {
  AMPC_RETURN_IF_ERROR(CheckSupported(flags));
  const std::optional<DType> dtype = ParseDType(flags.dtype);
  if (!dtype.has_value() || !IsLowPrecision(*dtype)) return UsageError(absl::StrCat("--dtype is '", flags.dtype, "', fp16 or bf16 is needed"));
  flags.request.options.dtype = *dtype;
  if (flags.keep_io && flags.request.options.low_io) return UsageError("--keep-io and --low-io contradict each other");
  AMPC_RETURN_IF_ERROR(CheckOutputs({flags.request.output, flags.request.params_output, flags.report}, ModelFiles(flags.request.input, flags.request.params)));
  Progress progress(console, "converting");
  flags.request.progress = [&progress](double done, double total) { progress.Update(done, total); };
  AMPC_ASSIGN_OR_RETURN(const ConvertResult result, ConvertModel(flags.request));
  if (!flags.report.empty()) AMPC_RETURN_IF_ERROR(WriteFileAtomically(flags.report, ReportJson(flags.request, result)));
  for (const std::string& note : result.notes) console.Note(note);
  if (flags.json) {
    PrintJson(console, flags, result);
  } else {
    PrintText(console, flags, result);
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

void AddOptions(CLI::App& app, ConvertFlags& flags) {
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
  app.add_option("--report", flags.report, "write every decision, cast and weight to this .json file");
  app.add_flag("--no-sync", r.no_sync, "do not wait for the disk");
  app.add_option("--compat", flags.compat, "another system's decisions (not in this version)")
      ->check(CLI::IsMember({"paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"}));
  app.add_option("--calibrate", flags.calibrate, "measure ranges on these inputs (not in this version)");
  app.add_option("--plan", flags.plan, "read the decision from a file (not in this version)");
}

}  // namespace

Command ConvertCommand() {
  return {"convert", "rewrites a trained model to mixed precision, weights included",
          "  ampc convert model.pdmodel -o model_fp16.pdmodel\n"
          "  ampc convert model.pdmodel -o model_bf16.pdmodel --dtype bf16 --report report.json\n"
          "  ampc convert model.pdmodel -o model_fp16.pdmodel --black-list softmax,layer_norm   keeps these in fp32\n"
          "  ampc convert model.pdmodel -o copy.pdmodel --level O0                              reads and writes, byte for byte",
          [](CLI::App& app) -> Action {
            auto flags = std::make_shared<ConvertFlags>();
            AddOptions(app, *flags);
            AddJsonFlag(app, &flags->json);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
