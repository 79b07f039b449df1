#include "runtime/convert/strip.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/formats/outputs.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/convert/made_with.h"

namespace ampc {
namespace {

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
      return BadInputError(absl::StrCat(path, ": weight '", var->name(), "' is ", ToString(from->type), ", the stripped program needs ",
                                        ToString(var->type)));
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
    const auto same_var = [](const auto& p, const auto& q) {
      return p->name() == q->name() && p->kind == q->kind && p->type.dtype == q->type.dtype;
    };
    if (!std::equal(x.ops().begin(), x.ops().end(), y.ops().begin(), y.ops().end(), same_op)) return false;
    if (!std::equal(x.vars().begin(), x.vars().end(), y.vars().begin(), y.vars().end(), same_var)) return false;
  }
  return true;
}

absl::Status CheckFiles(const StripOptions& options) {
  if (options.into != nullptr) return CheckSave(options.output, {});
  std::vector<std::string> inputs = ModelFiles(options.model, options.params);
  if (!options.weights.empty()) {
    for (std::string& file : ModelFiles(options.weights, options.weights_params)) inputs.push_back(std::move(file));
  }
  return CheckOutputs(SavedFiles(options.output, "", options.program_only), inputs);
}

absl::Status SetStage(const StripOptions& options, absl::string_view stage) {
  return !options.progress || options.progress({stage, 0, 0}) ? absl::OkStatus() : absl::CancelledError("cancelled by the caller");
}

absl::Status Save(const StripOptions& options, const Program& program, const FilesRead& read) {
  SaveOptions save;
  save.no_sync = options.no_sync;
  save.program_only = options.program_only;
  save.memory = options.into;
  if (options.progress) save.progress = [&options](double done, double total) { return options.progress({"saving", done, total}); };
  return options.into != nullptr ? SaveModel(program, options.output, save) : SaveModelApart(program, options.output, save, read);
}

}  // namespace

absl::StatusOr<StripResult> Strip(const StripOptions& options) {
  const FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckFiles(options));
  AMPC_RETURN_IF_ERROR(SetStage(options, "loading"));
  Program program, original;
  {
    const MemoryFiles::Scope memory(options.from);
    AMPC_ASSIGN_OR_RETURN(program, LoadModel(options.model, {.params = options.params, .program_only = options.program_only}));
    if (!options.weights.empty()) {
      AMPC_ASSIGN_OR_RETURN(original, LoadModel(options.weights, {.params = options.weights_params}));
    }
  }
  StripResult result;
  result.before = FactsOf(program);
  const bool same = !options.weights.empty() && HaveSameTypes(original, program);
  const bool marked = IsConverted(program);
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cuda"));
  PipelineOptions pipeline_options;
  pipeline_options.before = [&options](const PipelineStep& step) { return SetStage(options, step.pass); };
  const absl::Status status = RunPipeline(StripPipeline(!same), pipeline_options, ctx, program);
  AMPC_RETURN_IF_ERROR(marked ? BlameMarks(options.model, status) : status);
  if (options.weights.empty()) {
    result.notes = std::move(ctx.notes);
  } else {
    AMPC_RETURN_IF_ERROR(TakeWeights(original, options.weights, program));
  }
  AMPC_RETURN_IF_ERROR(SetStage(options, "saving"));
  AMPC_RETURN_IF_ERROR(Save(options, program, read));
  result.after = FactsOf(program);
  result.program = std::make_shared<const Program>(std::move(program));
  return result;
}

std::string StripJson(const std::string& model, const std::string& output, const StripResult& result) {
  const ModelFacts &before = result.before, &after = result.after;
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", model).Field("output", output).Field("casts_removed", before.casts - after.casts);
  json.Field("weight_bytes_before", before.weight_bytes).Field("weight_bytes_after", after.weight_bytes).EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
