// ampc opt: any pass list over a model.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/formats/outputs.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "runtime/convert/measure_executor.h"
#include "tools/cli/command.h"

namespace ampc {
namespace {

struct OptFlags {
  std::string model;
  std::string params;
  std::string passes;
  std::string output;
  std::string target = "cuda";
  std::string print_after;
  std::string verify_each = "on";
  std::string reproducer;
  int stop_after = -1;
  bool program_only = false;
  bool time_passes = false;
  bool list = false;
  bool json = false;
};

struct Step {
  std::string pass;
  bool changed;
  double seconds;
};

struct OptResult {
  std::vector<Step> steps;
  std::vector<std::string> notes;
  std::shared_ptr<const AmpDecision> decision;  // null unless the passes made one
  Program program;                              // where it was not saved
};

void ListPassesAsJson(Console& console) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Key("passes").BeginArray();
  for (const PassInfo* info : Passes().All()) {
    json.BeginObject().Field("name", info->name).Field("summary", info->summary).Key("options").BeginArray();
    for (const auto& [name, help] : info->options)
      json.BeginObject(JsonWriter::kInline).Field("name", name).Field("help", help).EndObject();
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  console.Out(json.Take() + "\n");
}

void ListPasses(Console& console) {
  for (const PassInfo* info : Passes().All()) {
    console.Out(absl::StrCat(info->name, "\n    ", info->summary, "\n"));
    for (const auto& [name, help] : info->options) console.Out(absl::StrCat("    ", name, ": ", help, "\n"));
  }
}

PipelineOptions MakeOptions(const OptFlags& flags, Progress& progress, OptResult& result, Console& console) {
  PipelineOptions options;
  options.verify_each = flags.verify_each != "off";
  options.check_claims = flags.verify_each == "full";
  options.stop_after = flags.stop_after;
  options.before = [&progress](const PipelineStep& step) {
    progress.Stage(step.pass);
    return absl::OkStatus();
  };
  options.after = [&flags, &result, &console](const PipelineStep& step, int index, const Program& program, bool changed, double seconds) {
    result.steps.push_back({step.pass, changed, seconds});
    if (flags.time_passes)
      console.Note(absl::StrFormat("%3d  %-28s %10s  %s", index, step.pass, HumanSeconds(seconds), changed ? "changed" : "unchanged"));
    if (changed && (flags.print_after == "all" || flags.print_after == step.pass)) {
      PrintOptions print;
      print.brief = true;
      console.Note(absl::StrCat("# after ", index, " ", step.pass));
      for (absl::string_view line : absl::StrSplit(PrintProgram(program, print), '\n')) console.Note(line);
    }
  };
  return options;
}

// Input program and pipeline in one file: `# run: ...` and the text.
absl::Status WriteReproducer(const std::string& path, const Pipeline& pipeline, const std::string& before) {
  return WriteFileAtomically(path, absl::StrCat("# run: ", pipeline.ToString(), "\n", before));
}

void PrintDecision(const OptResult& result, JsonWriter& json) {
  json.Key("decision").BeginArray();
  ForEachOp(result.program, [&](const Op& op) {
    if (IsInserted(op)) return;
    const OpDecision& d = result.decision->For(op);
    json.BeginObject(JsonWriter::kInline).Field("value", op.outputs().empty() ? "" : op.outputs()[0]->name()).Field("op", op.type());
    json.Field("precision", d.untouched ? "untouched" : d.low ? "low" : "fp32").Field("rule", d.rule).Field("reason", d.reason).EndObject();
  });
  json.EndArray();
}

// A saved program is in its file; otherwise the decision is the result, or the program.
void PrintJson(const OptFlags& flags, const OptResult& result, Console& console) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", flags.model).Key("passes").BeginArray();
  for (const Step& step : result.steps) {
    json.BeginObject(JsonWriter::kInline)
        .Field("pass", step.pass)
        .Field("changed", step.changed)
        .Field("seconds", step.seconds)
        .EndObject();
  }
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray();
  if (!flags.output.empty()) {
    json.Field("output", flags.output);
  } else if (result.decision != nullptr) {
    PrintDecision(result, json);
  } else {
    json.Field("program", PrintProgram(result.program));
  }
  json.EndObject();
  console.Out(json.Take() + "\n");
}

void Print(const OptFlags& flags, const OptResult& result, Console& console) {
  if (flags.list) return flags.json ? ListPassesAsJson(console) : ListPasses(console);
  if (flags.json) return PrintJson(flags, result, console);
  if (!flags.output.empty()) return;
  console.Out(result.decision != nullptr ? ToTable(*result.decision, result.program) : PrintProgram(result.program));
}

absl::Status Run(const OptFlags& flags, OptResult& result, Console& console) {
  if (flags.list) return absl::OkStatus();
  if (flags.model.empty() || flags.passes.empty()) return UsageError("a model and --passes=LIST are needed (or --list)");
  FilesRead read;
  std::vector<std::string> outputs = SavedFiles(flags.output, "", flags.program_only);
  outputs.push_back(flags.reproducer);
  AMPC_RETURN_IF_ERROR(CheckOutputs(outputs, ModelFiles(flags.model, flags.params)));
  AMPC_ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse(flags.passes));
  Progress progress(console, "loading");
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport(flags.target));
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(flags.model, {.params = flags.params, .program_only = flags.program_only}));
  AMPC_RETURN_IF_ERROR(CheckNotRead(outputs, read));
  AMPC_RETURN_IF_ERROR(Annotate(Verify(program), flags.model));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  const MeasureExecutor executor;
  ctx.executor = &executor;
  const std::string before = flags.reproducer.empty() ? "" : PrintProgram(program);
  const absl::Status status = RunPipeline(pipeline, MakeOptions(flags, progress, result, console), ctx, program);
  for (const std::string& note : ctx.notes) console.Note(note);
  if (!status.ok()) {
    if (!flags.reproducer.empty()) AMPC_RETURN_IF_ERROR(WriteReproducer(flags.reproducer, pipeline, before));
    return status;
  }
  result.notes = std::move(ctx.notes);
  if (!flags.output.empty()) {
    progress.Stage("saving");
    SaveOptions save;
    save.program_only = flags.program_only;
    save.progress = [&progress](double done, double total) {
      progress.Update(done, total);
      return true;
    };
    return SaveModelApart(program, flags.output, save, read);
  }
  result.decision = ctx.Take<AmpDecision>();
  result.program = std::move(program);
  return absl::OkStatus();
}

}  // namespace

Command OptCommand() {
  return {"opt", "runs a list of passes over a model",
          "  ampc opt model.pdmodel --passes=fold-constants,dedup,drop-dead -o smaller.pdmodel\n"
          "  ampc opt model.pdmodel --passes='protect,amp-decide{level=O2}'      prints the decision table\n"
          "  ampc opt program.prog --passes=fold-casts                          prints the program\n"
          "  ampc opt --list                                                    every pass with its options",
          [](Options options) -> Action {
            auto flags = std::make_shared<OptFlags>();
            options.Add("model", flags->model, kModelHelp);
            const Options passes = options.Under("Passes");
            passes.Add("--passes", flags->passes, "passes in order, options in braces: a,b{key=value}");
            passes.Add("--target", flags->target, "which device's support for low precision counts").OneOf(TargetNames()).ShowDefault();
            passes.Add("--stop-after", flags->stop_after, "run only the first N passes").NotNegative();
            passes.Flag("--list", flags->list, "list every pass with its options");
            const Options files = options.Under("Files");
            files.Add("--output,-o", flags->output, "where to write the result; without it the result is printed");
            files.Add("--params", flags->params, "file with the weights").Values("FILE");
            files.Flag("--program-only", flags->program_only, "a program without its weights");
            const Options checks = options.Under("Checks");
            checks.Add("--print-after", flags->print_after, "print the program after this pass (or all) when it changed it");
            checks.Add("--verify-each", flags->verify_each, "verify after every pass").OneOf({"on", "off", "full"}).ShowDefault();
            checks.Flag("--time-passes", flags->time_passes, "print the time of every pass");
            checks.Add("--reproducer", flags->reproducer, "on failure write the input program and the pipeline here").Values("FILE");
            AddJsonFlag(options, &flags->json);
            return [flags](Console& console) -> absl::Status {
              OptResult result;
              AMPC_RETURN_IF_ERROR(Run(*flags, result, console));
              Print(*flags, result, console);
              return absl::OkStatus();
            };
          }};
}

}  // namespace ampc
