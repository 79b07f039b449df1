#include "tools/cli/convert_model.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "passes/analysis/target_support.h"
#include "tools/cli/config_writer.h"
#include "tools/cli/made_with.h"
#include "tools/cli/outputs.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;

class Stopwatch {
 public:
  // Seconds since the last call, or since construction.
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int64_t BytesOf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const uintmax_t size = fs::file_size(path, error);
    return error ? 0 : static_cast<int64_t>(size);
  }
  int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) bytes += BytesOf(entry.path());
  }
  return bytes;
}

// The program's file and the files that its weights lie in.
int64_t ModelBytes(const std::string& path, const Program& program) {
  std::set<std::string> files;
  std::error_code error;
  const bool directory = fs::is_directory(path, error);
  if (!directory) files.insert(fs::path(path).lexically_normal().string());
  ForEachVar(program, [&](const Var& v) {
    if (v.weight == nullptr || v.weight->source->path().empty()) return;
    if (!directory || fs::path(v.weight->source->path()).parent_path() != fs::path(path)) files.insert(fs::path(v.weight->source->path()).lexically_normal().string());
  });
  int64_t bytes = directory ? BytesOf(path) : 0;
  for (const std::string& file : files) bytes += BytesOf(file);
  return bytes;
}

absl::Status CheckFiles(const ConvertRequest& request) {
  SaveOptions save;
  save.params = request.params_output;
  AMPC_RETURN_IF_ERROR(CheckSave(request.output, save));
  return CheckOutputs(SavedFiles(request.output, request.params_output, request.program_only), ModelFiles(request.input, request.params));
}

// A name that is in no list of values would be ignored without a word.
absl::Status CheckBlackVars(const Program& program, const std::vector<std::string>& black_vars) {
  if (black_vars.empty()) return absl::OkStatus();
  std::set<std::string> names;
  ForEachVar(program, [&names](const Var& v) { names.insert(v.exported()); });
  for (const std::string& name : black_vars) {
    if (names.contains(name)) continue;
    return UsageError(absl::StrCat("--black-vars: the model has no value '", name, "'", Suggest(name, std::vector<std::string>(names.begin(), names.end()))));
  }
  return absl::OkStatus();
}

// Ranges of values, read and measured. Adds them to `files` where they are to be saved.
absl::StatusOr<Ranges> ReadRanges(const ConvertRequest& request, const Program& program, AtomicFileSet& files) {
  Ranges ranges;
  if (!request.ranges.empty()) {
    AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(request.ranges));
    absl::StatusOr<Ranges> read = ParseRanges(file.text());
    if (!read.ok()) return Annotate(read.status(), request.ranges);
    ranges = *std::move(read);
  }
  if (request.measure != nullptr) {
    TellStage(request.stage, "measuring ranges of values");
    AMPC_ASSIGN_OR_RETURN(const Ranges measured, request.measure(program));
    for (const auto& [name, range] : measured) ranges[name].Add(range);
  }
  if (!request.save_ranges.empty()) AMPC_RETURN_IF_ERROR(files.AddBefore(request.save_ranges, RangesJson(ranges)));
  return ranges;
}

// Marks what they say. Types have to be known for that.
absl::Status UseRanges(const ConvertRequest& request, const Ranges& ranges, PassContext& ctx, Program& program) {
  AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("infer-types"), {}, ctx, program));
  const int marks = MarkByRanges(ranges, request.options.dtype, program);
  if (marks > 0) ctx.notes.push_back(absl::StrCat("the ranges of values keep ", marks, marks == 1 ? " op" : " ops", " in fp32"));
  return absl::OkStatus();
}

// Has this program been converted before?
bool HasMarks(const Program& program) {
  bool marks = IsConverted(program);
  ForEachOp(program, [&marks](const Op& op) { marks = marks || op.marks.amp != AmpMark::kNone; });
  return marks;
}

// What was not changed is written as it was: reasons to stay fp32 are worth no other file.
void ForgetReasons(Program& program) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      op->marks.amp = AmpMark::kNone;
      op->marks.amp_reason.clear();
    }
  }
}

// The marks of an earlier conversion come from the file: what they make impossible is its fault.
absl::Status RunConversion(ConvertRequest& request, PassContext& ctx, Program& program, AtomicFileSet& files) {
  request.ranged = !request.ranges.empty() || request.measure != nullptr;
  Ranges ranges;
  if (request.ranged) {
    AMPC_ASSIGN_OR_RETURN(ranges, ReadRanges(request, program, files));
  }
  if (request.options.level == "O0") return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(const bool kept, KeepsConversion(program, &request));
  if (kept) return CheckMarks(program, request.input);
  const bool marked = HasMarks(program);
  if (request.ranged) AMPC_RETURN_IF_ERROR(UseRanges(request, ranges, ctx, program));
  const Pipeline pipeline = ConvertPipeline(request.options);
  const absl::Status status = RunPipeline(pipeline, TellPasses(pipeline, request.stage), ctx, program);
  if (status.ok() && IsConverted(program)) SetConversionOptions(MadeWith(request), program);
  if (status.ok() && !marked && !IsConverted(program)) ForgetReasons(program);
  return marked ? BlameMarks(request.input, status) : status;
}

// Literals go out with the program, as they are.
absl::Status MeasureLiterals(const Program& program, ConvertResult& result) {
  absl::Status measured;
  ForEachVar(program, [&](const Var& var) {
    if (!IsConverted(var) || var.literal == nullptr) return;
    const absl::StatusOr<WeightDamage> damage = DamageOfLiteral(var);
    measured.Update(damage.status());
    if (damage.ok()) result.damages[var.name()] = *damage;
  });
  return measured;
}

// Everything that is written, in `files`; what `result` says of the model's.
absl::Status AddOutputs(const ConvertRequest& request, Program program, ConvertResult& result, AtomicFileSet& files) {
  SaveOptions save;
  save.params = request.params_output;
  save.no_sync = request.no_sync;
  save.program_only = request.program_only;
  save.progress = request.progress;
  save.on_weight = [&result](const Var& var, const WeightDamage& damage) {
    if (IsConverted(var)) result.damages[var.name()] = damage;
  };
  AMPC_RETURN_IF_ERROR(MeasureLiterals(program, result));
  Stopwatch watch;
  const uint64_t before = files.bytes();
  const double synced = SyncSeconds();
  AMPC_RETURN_IF_ERROR(AddModel(program, request.output, save, &files));
  result.sync_seconds = SyncSeconds() - synced;
  result.save_seconds = watch.Lap();
  result.bytes_after = static_cast<int64_t>(files.bytes() - before);
  result.program = std::make_shared<const Program>(std::move(program));
  return request.add_files == nullptr ? absl::OkStatus() : request.add_files(result, files);
}

// The releases whose decisions --compat repeats convert programs of Paddle 2.
absl::Status CheckCompat(const Program& program, const ConvertRequest& request) {
  if (request.options.mode == "own" || program.origin == nullptr || program.origin->format() != "pir") return absl::OkStatus();
  return UsageError(
      absl::StrCat("--compat ", request.options.mode, ": ", request.input,
                   " is a program of Paddle 3 (PIR), which that release does not read, and Paddle 3 itself does not convert"));
}

}  // namespace

absl::StatusOr<ConvertResult> ConvertModel(const ConvertRequest& wanted) {
  ConvertRequest request = wanted;
  FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckFiles(request));
  ConvertResult result;
  Stopwatch watch;
  TellStage(request.stage, "loading");
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(request.input, {.params = request.params, .program_only = request.program_only}));
  TellStage(request.stage, "verifying");
  AMPC_RETURN_IF_ERROR(Annotate(Verify(program), request.input));
  AMPC_RETURN_IF_ERROR(CheckCompat(program, request));
  AMPC_RETURN_IF_ERROR(CheckBlackVars(program, request.options.black_vars));
  result.before = FactsOf(program);
  result.bytes_before = ModelBytes(request.input, program);
  result.load_seconds = watch.Lap();

  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport(request.target));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  AtomicFileSet files({.no_sync = request.no_sync});
  AMPC_RETURN_IF_ERROR(RunConversion(request, ctx, program, files));
  result.after = FactsOf(program);
  result.notes = std::move(ctx.notes);
  result.decision = std::move(ctx.decision);
  result.options = request.options;
  result.target = request.target;
  result.pass_seconds = watch.Lap();
  TellStage(request.stage, "saving");

  AMPC_RETURN_IF_ERROR(AddOutputs(request, std::move(program), result, files));
  AMPC_RETURN_IF_ERROR(CheckNotRead(files.targets(), read));
  watch.Lap();
  const double synced = SyncSeconds();
  AMPC_RETURN_IF_ERROR(files.Commit());
  result.sync_seconds += SyncSeconds() - synced;
  result.save_seconds += watch.Lap();
  return result;
}

AmpReport ReportOf(const ConvertResult& result) {
  AmpReport report = MakeAmpReport(*result.program, result.decision.get());
  for (AmpWeightEntry& weight : report.weights) {
    const auto it = result.damages.find(weight.name);
    if (it != result.damages.end()) weight.damage = it->second;
  }
  return report;
}

std::string ReportJson(const ConvertRequest& request, const ConvertResult& result, const AmpReportLimits& limits) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("input", request.input).Field("output", request.output).Field("command", request.command);
  json.Field("bytes_before", result.bytes_before).Field("bytes_after", result.bytes_after).Field("seconds", result.seconds());
  json.Field("load_seconds", result.load_seconds).Field("pass_seconds", result.pass_seconds).Field("save_seconds", result.save_seconds);
  json.Field("target", request.target).Field("pipeline", ConvertPipeline(request.options).ToString());
  WriteConvertConfig(request, json.Key("config"));
  json.Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray();
  WriteAmpReport(ReportOf(result), json, limits);
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
