// ampc strip: the fp32 program back from a converted one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "graph/formats/format.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "tools/cli/command.h"
#include "tools/cli/made_with.h"
#include "tools/cli/model_facts.h"
#include "tools/cli/outputs.h"
#include "tools/cli/stages.h"

namespace ampc {
namespace {

struct StripFlags {
  std::string model;
  std::string params;
  std::string output;
  std::string weights;
  std::string weights_params;
  bool program_only = false;
  bool no_sync = false;
  bool json = false;
};

// Puts the stored values of `original` under the same names into `program`.
absl::Status TakeWeights(const Block& original, const std::string& path, Block& block) {
  for (const std::unique_ptr<Var>& var : block.vars()) {
    const bool literal = var->literal != nullptr && var->type.IsFloat();
    if (var->weight == nullptr && !literal) continue;
    const Var* from = original.FindVar(var->name());
    if (literal && (from == nullptr || from->literal == nullptr)) continue;
    if (from == nullptr || (!literal && from->weight == nullptr)) {
      return BadInputError(absl::StrCat(path, " has no weight '", var->name(), "', which the stripped program needs"));
    }
    if (!Compatible(from->type, var->type)) {
      return BadInputError(absl::StrCat(path, ": weight '", var->name(), "' is ", ToString(from->type), ", the stripped program needs ", ToString(var->type)));
    }
    if (literal) {
      var->literal = from->literal;
    } else {
      var->weight = std::make_unique<WeightRef>(*from->weight);
    }
  }
  return absl::OkStatus();
}

// Stripped, a program has the blocks of its original.
absl::Status TakeWeights(const Program& original, const std::string& path, Program& program) {
  for (int b = 0; b < program.num_blocks() && b < original.num_blocks(); ++b) {
    if (program.block(b).name() == original.block(b).name()) AMPC_RETURN_IF_ERROR(TakeWeights(original.block(b), path, program.block(b)));
  }
  return absl::OkStatus();
}

// Whether the two have the same ops and values, and those the same types: no conversion came between them.
bool HaveSameTypes(const Program& a, const Program& b) {
  if (a.num_blocks() != b.num_blocks()) return false;
  for (int i = 0; i < a.num_blocks(); ++i) {
    const Block &x = a.block(i), &y = b.block(i);
    const auto same_op = [](const auto& p, const auto& q) { return p->type() == q->type(); };
    const auto same_var = [](const auto& p, const auto& q) { return p->name() == q->name() && p->kind == q->kind && p->type.dtype == q->type.dtype; };
    if (!std::equal(x.ops().begin(), x.ops().end(), y.ops().begin(), y.ops().end(), same_op)) return false;
    if (!std::equal(x.vars().begin(), x.vars().end(), y.vars().begin(), y.vars().end(), same_var)) return false;
  }
  return true;
}

absl::Status CheckFiles(const StripFlags& flags) {
  std::vector<std::string> inputs = ModelFiles(flags.model, flags.params);
  if (!flags.weights.empty()) {
    for (std::string& file : ModelFiles(flags.weights, flags.weights_params)) inputs.push_back(std::move(file));
  }
  return CheckOutputs(SavedFiles(flags.output, "", flags.program_only), inputs);
}

absl::Status Run(const StripFlags& flags, Console& console) {
  FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckFiles(flags));
  Progress progress(console, "loading");
  const StageTeller tell = [&progress](absl::string_view stage) { progress.Stage(stage); };
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(flags.model, {.params = flags.params, .program_only = flags.program_only}));
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport("cuda"));
  PassContext ctx;
  ctx.support = support;
  const ModelFacts before = FactsOf(program);
  Program original;
  bool same = false;
  if (!flags.weights.empty()) {
    AMPC_ASSIGN_OR_RETURN(original, LoadModel(flags.weights, {.params = flags.weights_params}));
    same = HaveSameTypes(original, program);
  }
  const Pipeline pipeline = StripPipeline(!same);
  const bool marked = IsConverted(program);
  const absl::Status status = RunPipeline(pipeline, TellPasses(pipeline, tell), ctx, program);
  AMPC_RETURN_IF_ERROR(marked ? BlameMarks(flags.model, status) : status);
  if (flags.weights.empty()) {
    for (const std::string& note : ctx.notes) console.Note(note);
  } else {
    AMPC_RETURN_IF_ERROR(TakeWeights(original, flags.weights, program));
  }
  tell("saving");
  SaveOptions save;
  save.no_sync = flags.no_sync;
  save.program_only = flags.program_only;
  save.progress = [&progress](double done, double total) { progress.Update(done, total); };
  AMPC_RETURN_IF_ERROR(SaveModelApart(program, flags.output, save, read));
  const ModelFacts after = FactsOf(program);
  if (flags.json) {
    JsonWriter json(JsonWriter::kIndented);
    json.BeginObject().Field("model", flags.model).Field("output", flags.output).Field("casts_removed", before.casts - after.casts);
    json.Field("weight_bytes_before", before.weight_bytes).Field("weight_bytes_after", after.weight_bytes).EndObject();
    console.Out(json.Take() + "\n");
  } else {
    console.Out(absl::StrCat(flags.output, ": ", before.casts - after.casts, " casts removed, weights ", HumanBytes(before.weight_bytes), " -> ",
                             HumanBytes(after.weight_bytes), "\n"));
  }
  return absl::OkStatus();
}

}  // namespace

Command StripCommand() {
  return {"strip", "removes what convert put in and restores the fp32 program",
          "  ampc strip model_fp16.pdmodel -o model.pdmodel                              weights are widened from what is stored\n"
          "  ampc strip model_fp16.pdmodel -o model.pdmodel --weights original.pdmodel   weights are the original's\n"
          "  ampc strip model_fp16.onnx -o model.onnx --weights original.onnx",
          [](Options options) -> Action {
            auto flags = std::make_shared<StripFlags>();
            options.Add("model", flags->model, "a converted model").Required();
            options.Add("--output,-o", flags->output, "where to write the fp32 model").Required();
            options.Add("--params", flags->params, "file with the weights");
            options.Add("--weights", flags->weights, "model to take the exact weights from");
            options.Add("--weights-params", flags->weights_params, "file with that model's weights");
            options.Flag("--program-only", flags->program_only, "a program without its weights").Excludes("--weights");
            options.Flag("--no-sync", flags->no_sync, "do not wait for the disk");
            AddJsonFlag(options, &flags->json);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
