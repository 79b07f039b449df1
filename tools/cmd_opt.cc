// ampc opt: any pass list over a model.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tools/cli/command.h"
#include "tools/cli/outputs.h"

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
};

void ListPasses(Console& console) {
  for (const PassInfo* info : Passes().All()) {
    console.Out(absl::StrCat(info->name, "\n    ", info->summary, "\n"));
    for (const auto& [name, help] : info->options) console.Out(absl::StrCat("    ", name, ": ", help, "\n"));
  }
}

PipelineOptions MakeOptions(const OptFlags& flags, Console& console) {
  PipelineOptions options;
  options.verify_each = flags.verify_each != "off";
  options.check_claims = flags.verify_each == "full";
  options.stop_after = flags.stop_after;
  options.after = [&flags, &console](const PipelineStep& step, int index, const Program& program, bool changed, double seconds) {
    if (flags.time_passes) console.Note(absl::StrFormat("%3d  %-28s %10s  %s", index, step.pass, HumanSeconds(seconds), changed ? "changed" : "unchanged"));
    if (changed && (flags.print_after == "all" || flags.print_after == step.pass)) {
      PrintOptions print;
      print.brief = true;
      console.Note(absl::StrCat("# after ", index, " ", step.pass, "\n", PrintProgram(program, print)));
    }
  };
  return options;
}

// Input program and pipeline in one file: `# run: ...` and the text.
absl::Status WriteReproducer(const std::string& path, const Pipeline& pipeline, const std::string& before) {
  return WriteFileAtomically(path, absl::StrCat("# run: ", pipeline.ToString(), "\n", before));
}

absl::Status Run(const OptFlags& flags, Console& console) {
  if (flags.list) {
    ListPasses(console);
    return absl::OkStatus();
  }
  if (flags.model.empty() || flags.passes.empty()) return UsageError("a model and --passes=LIST are needed (or --list)");
  FilesRead read;
  std::vector<std::string> outputs = ModelFiles(flags.output, "");
  if (flags.program_only) outputs.resize(1);
  outputs.push_back(flags.reproducer);
  AMPC_RETURN_IF_ERROR(CheckOutputs(outputs, ModelFiles(flags.model, flags.params)));
  AMPC_ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse(flags.passes));
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport(flags.target));
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(flags.model, {.params = flags.params, .program_only = flags.program_only}));
  AMPC_RETURN_IF_ERROR(CheckNotRead(outputs, read));
  AMPC_RETURN_IF_ERROR(Annotate(Verify(program), flags.model));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  const std::string before = flags.reproducer.empty() ? "" : PrintProgram(program);
  const absl::Status status = RunPipeline(pipeline, MakeOptions(flags, console), ctx, program);
  for (const std::string& note : ctx.notes) console.Note(note);
  if (!status.ok()) {
    if (!flags.reproducer.empty()) AMPC_RETURN_IF_ERROR(WriteReproducer(flags.reproducer, pipeline, before));
    return status;
  }
  if (ctx.decision != nullptr && flags.output.empty()) console.Out(ToTable(*ctx.decision, program));
  if (!flags.output.empty()) {
    Progress progress(console, "writing");
    SaveOptions save;
    save.program_only = flags.program_only;
    save.progress = [&progress](double done, double total) { progress.Update(done, total); };
    return SaveModelApart(program, flags.output, save, read);
  }
  if (ctx.decision == nullptr) console.Out(PrintProgram(program));
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
            options.Add("--passes", flags->passes, "passes in order, options in braces: a,b{key=value}");
            options.Add("--output,-o", flags->output, "where to write the result; without it the result is printed");
            options.Add("--params", flags->params, "file with the weights");
            options.Flag("--program-only", flags->program_only, "a program without its weights");
            options.Add("--target", flags->target, "which device's support for low precision counts").OneOf({"cuda", "cpu"}).ShowDefault();
            options.Add("--print-after", flags->print_after, "print the program after this pass (or all) when it changed it");
            options.Add("--stop-after", flags->stop_after, "run only the first N passes").NotNegative();
            options.Add("--verify-each", flags->verify_each, "verify after every pass").OneOf({"on", "off", "full"}).ShowDefault();
            options.Flag("--time-passes", flags->time_passes, "print the time of every pass");
            options.Add("--reproducer", flags->reproducer, "on failure write the input program and the pipeline here");
            options.Flag("--list", flags->list, "list every pass with its options");
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
