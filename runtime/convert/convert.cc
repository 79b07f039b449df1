#include "runtime/convert/convert.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/formats/outputs.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "passes/amp/decide/measure.h"
#include "passes/amp/decide/plan.h"
#include "passes/amp/decide/ranges.h"
#include "passes/amp/rescale/rescaled.h"
#include "passes/analysis/target_support.h"
#include "runtime/convert/made_with.h"
#include "runtime/convert/measure_executor.h"
#include "runtime/convert/model_bytes.h"
#include "runtime/convert/report.h"
#include "runtime/convert/runtime_choice.h"
#include "runtime/convert/sizes.h"
#include "runtime/convert/times.h"
#include "runtime/feeds.h"

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

// The releases whose decisions --compat repeats convert programs of Paddle 2.
absl::Status CheckCompat(const Program& program, const ConvertOptions& options) {
  if (options.mode == "own" || program.origin == nullptr || program.origin->format() != "pir") return absl::OkStatus();
  return UsageError(
      absl::StrCat("--compat ", options.mode, ": ", options.model,
                   " is a program of Paddle 3 (PIR), which that release does not read, and Paddle 3 itself does not convert"));
}

// A name that is in no list of values would be ignored without a word.
absl::Status CheckBlackVars(const Program& program, const std::vector<std::string>& black_vars) {
  if (black_vars.empty()) return absl::OkStatus();
  std::set<std::string> names;
  ForEachVar(program, [&names](const Var& v) { names.insert(v.exported()); });
  for (const std::string& name : black_vars) {
    if (names.contains(name)) continue;
    return UsageError(absl::StrCat("--black-vars: the model has no value '", name, "'",
                                   Suggest(name, std::vector<std::string>(names.begin(), names.end()))));
  }
  return absl::OkStatus();
}

// Has this program been converted before?
bool HasMarks(const Program& program) {
  bool marks = IsConverted(program);
  ForEachOp(program, [&marks](const Op& op) { marks = marks || op.marks.amp != AmpMark::kNone; });
  return marks;
}

// A model that was not changed is written as it was: reasons to stay fp32 are worth no other file.
void ForgetReasons(Program& program) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      op->marks.amp = AmpMark::kNone;
      op->marks.amp_reason.clear();
    }
  }
}

bool AnyLow(const AmpDecision& decision) {
  return std::any_of(decision.ops.begin(), decision.ops.end(), [](const OpDecision& op) { return op.low; });
}

constexpr absl::string_view kUpgradePass = "upgrade-onnx-opset";

Pipeline Without(absl::string_view pass, const Pipeline& pipeline) {
  Pipeline out;
  for (const PipelineStep& step : pipeline.steps()) {
    if (step.pass != pass) out.Add(step.pass, step.options);
  }
  return out;
}

// The steps of one conversion, in order.
class Conversion {
 public:
  explicit Conversion(const ConvertOptions& options)
      : options_(options),
        evaluator_(MakeCpuEvaluator()),
        files_({.no_sync = options.no_sync, .memory = options.into}),
        beside_({.no_sync = options.no_sync}) {
    ctx_.evaluator = evaluator_.get();
  }

  absl::Status CheckOptions() {
    AMPC_RETURN_IF_ERROR(ResolveConvertOptions(&options_));
    AMPC_ASSIGN_OR_RETURN(FeedOptions feeds, FeedOptionsOf(options_));
    executor_ = std::make_unique<const MeasureExecutor>(std::move(feeds));
    ctx_.executor = executor_.get();
    if (!options_.plan.empty()) AMPC_RETURN_IF_ERROR(ResolvePlan());
    AMPC_RETURN_IF_ERROR(ResolveTimes(&options_));
    if (options_.decide_only) return absl::OkStatus();
    AMPC_RETURN_IF_ERROR(CheckSave(options_.output, {.params = options_.params_output}));
    return CheckOutputs(Outputs(), Inputs());
  }

  absl::Status Load() {
    AMPC_RETURN_IF_ERROR(SetStage("loading"));
    const MemoryFiles::Scope memory(options_.from);
    AMPC_ASSIGN_OR_RETURN(program_, LoadModel(options_.model, {.params = options_.params, .program_only = options_.program_only}));
    return absl::OkStatus();
  }

  absl::Status VerifyLoaded() {
    AMPC_RETURN_IF_ERROR(SetStage("verifying"));
    AMPC_RETURN_IF_ERROR(Annotate(Verify(program_), options_.model));
    AMPC_RETURN_IF_ERROR(CheckCompat(program_, options_));
    AMPC_RETURN_IF_ERROR(CheckRuntime(options_.runtime, options_.model, program_));
    AMPC_RETURN_IF_ERROR(CheckDims(options_, program_));
    if (options_.plan.empty()) AMPC_RETURN_IF_ERROR(CheckBlackVars(program_, options_.black_vars));
    result_.before = FactsOf(program_);
    result_.bytes_before = ModelBytes(options_.model, program_, options_.from);
    result_.load_seconds = watch_.Lap();
    options_.ranged =
        (options_.planned != nullptr && options_.planned->measured) || !options_.ranges.empty() || !options_.calibrate.empty();
    marked_ = HasMarks(program_);
    if (options_.level != "O0") {
      AMPC_ASSIGN_OR_RETURN(kept_, KeepsConversion(program_, &options_));
    }
    AMPC_ASSIGN_OR_RETURN(ctx_.support, TargetSupport(options_.target, options_.runtime));
    return kept_ ? CheckMarks(program_, options_.model) : absl::OkStatus();
  }

  absl::Status Measure() {
    if (!kept_) {
      AMPC_RETURN_IF_ERROR(RunPipeline(MeasurePipeline(options_), Stages(), ctx_, program_));
      if (const Rescaled* rescaled = ctx_.Find<Rescaled>()) rescaled_ = *rescaled;
      return absl::OkStatus();
    }
    if (options_.save_ranges.empty()) return absl::OkStatus();
    PassOptions measure = MeasurePipeline(options_).steps().back().options;
    measure["mark"] = "false";
    return RunPipeline(Pipeline().Add("measure", std::move(measure)), Stages(), ctx_, program_);
  }

  absl::Status Decide() {
    if (kept_) return DecideAgain();
    PutKnown(&ctx_);
    Pipeline decide = DecidePipeline(options_);
    Program original;
    if (MayUpgrade()) original = program_.Clone();
    const size_t notes = ctx_.notes.size();
    AMPC_RETURN_IF_ERROR(Run(decide));
    if (MayUpgrade() && !AnyLow(*ctx_.Find<AmpDecision>())) {  // another operator set alone is no conversion
      program_ = std::move(original);
      ctx_.notes.resize(notes);
      AMPC_RETURN_IF_ERROR(Run(Without(kUpgradePass, decide)));
    }
    const AmpDecision* decision = ctx_.Find<AmpDecision>();
    if (decision != nullptr && !AnyLow(*decision) && !rescaled_.exponents.empty()) {
      ctx_.notes.push_back("nothing becomes low: rescaled weights are what they were");
      AMPC_RETURN_IF_ERROR(TakeBack(std::exchange(rescaled_, {}), program_));
    }
    ReportDecision(program_, ctx_);
    if (decision != nullptr) {
      result_.predicted = PredictConversion(program_, *decision, options_);
      NoteRuntime(options_.runtime, program_, *decision, &ctx_.notes);
    }
    return absl::OkStatus();
  }
  absl::Status Rewrite() { return Run(RewritePipeline(options_)); }

  absl::Status VerifyRewritten() {
    AMPC_RETURN_IF_ERROR(Run(CheckPipeline(options_)));
    const bool done = !kept_ && options_.level != "O0";
    if (done && IsConverted(program_)) SetConversionOptions(WithRescaled(MadeWith(options_), rescaled_), program_);
    if (done && !rescaled_.exponents.empty() && ConversionOptions(program_).empty()) {
      return UnsupportedError(absl::StrCat(options_.model, ": no op can carry the record of --rescale, convert it without"));
    }
    if (done && !marked_ && !IsConverted(program_)) ForgetReasons(program_);
    result_.after = FactsOf(program_);
    result_.notes = std::move(ctx_.notes);
    result_.decision = ctx_.Take<AmpDecision>();
    if (const ProbeReport* probe = ctx_.Find<ProbeReport>()) result_.probe = probe->text;
    result_.options = options_;
    result_.options.progress = nullptr;
    result_.options.decided = nullptr;
    result_.options.page = nullptr;
    result_.options.planned = nullptr;
    result_.pass_seconds = watch_.Lap();
    return absl::OkStatus();
  }

  absl::Status Export() {
    AMPC_RETURN_IF_ERROR(SetStage("saving"));
    AMPC_RETURN_IF_ERROR(MeasureLiterals());
    SaveOptions save;
    save.params = options_.params_output;
    save.no_sync = options_.no_sync;
    save.program_only = options_.program_only;
    save.memory = options_.into;
    if (options_.progress) save.progress = [this](double done, double total) { return options_.progress({"saving", done, total}); };
    save.on_weight = [this](const Var& var, const WeightDamage& damage) {
      if (IsConverted(var)) result_.damages[var.name()] = damage;
    };
    const double synced = SyncSeconds();
    AMPC_RETURN_IF_ERROR(AddModel(program_, options_.output, save, &files_));
    result_.sync_seconds = SyncSeconds() - synced;
    result_.save_seconds = watch_.Lap();
    result_.bytes_after = static_cast<int64_t>(files_.bytes());
    result_.program = std::make_shared<const Program>(std::move(program_));
    return absl::OkStatus();
  }

  absl::Status Report() {
    AtomicFileSet& files = options_.into == nullptr ? files_ : beside_;
    if (!options_.save_ranges.empty()) AMPC_RETURN_IF_ERROR(files.AddBefore(options_.save_ranges, RangesJson(*ctx_.Find<Ranges>())));
    if (!options_.report.empty()) {
      const bool page = fs::path(options_.report).extension() == ".html";
      AMPC_RETURN_IF_ERROR(files.AddBefore(options_.report, page ? options_.page(result_) : ReportJson(result_)));
    }
    if (!options_.plan_out.empty()) AMPC_RETURN_IF_ERROR(files.AddBefore(options_.plan_out, plan_));
    return options_.write_config.empty() ? absl::OkStatus() : files.AddBefore(options_.write_config, ConfigJson(options_));
  }

  ConvertResult Decided() {
    result_.program = std::make_shared<const Program>(std::move(program_));
    return std::move(result_);
  }

  absl::StatusOr<ConvertResult> Commit() {
    for (const AtomicFileSet* files : {&files_, &beside_}) AMPC_RETURN_IF_ERROR(CheckNotRead(files->targets(), read_));
    watch_.Lap();
    const double synced = SyncSeconds();
    AMPC_RETURN_IF_ERROR(files_.Commit());
    AMPC_RETURN_IF_ERROR(beside_.Commit());
    result_.sync_seconds += SyncSeconds() - synced;
    result_.save_seconds += watch_.Lap();
    return std::move(result_);
  }

 private:
  std::vector<std::string> Inputs() const {
    std::vector<std::string> files = ModelFiles(options_.model, options_.params);
    files.insert(files.end(), {options_.ranges, options_.plan, options_.profile});
    files.insert(files.end(), options_.also_read.begin(), options_.also_read.end());
    for (const std::string& source : options_.calibrate) files.push_back(FileOfFeeds(source));
    return files;
  }

  std::vector<std::string> Outputs() const {
    std::vector<std::string> files;
    if (options_.into == nullptr) files = SavedFiles(options_.output, options_.params_output, options_.program_only);
    for (const std::string* file : {&options_.report, &options_.write_config, &options_.save_ranges, &options_.plan_out})
      files.push_back(*file);
    return files;
  }

  absl::Status ResolvePlan() {
    if (options_.planned == nullptr) {
      AMPC_ASSIGN_OR_RETURN(Plan plan, ReadPlan(options_.plan));
      options_.planned = std::make_shared<const Plan>(std::move(plan));
    }
    if (options_.planned->edited) options_.plan_digest = options_.planned->digest;
    return absl::OkStatus();
  }

  // For the passes that decide.
  void PutKnown(PassContext* ctx) const {
    ctx->Put(std::make_unique<FindsSizes>(FindsSizes{[this](const Program& program) { return SizesFor(options_, program); }}));
    if (options_.planned != nullptr) ctx->Put(std::make_unique<Plan>(*options_.planned));
  }

  // The casts of a model that was converted before tell its decision; the reasons, and its other ops, come from the decision of its
  // original, which is made again if somebody asks.
  absl::Status DecideAgain() {
    if (!options_.decide_only && options_.plan_out.empty()) return absl::OkStatus();
    Program copy;
    if (!options_.decide_only) copy = program_.Clone();
    Program& program = options_.decide_only ? program_ : copy;
    PassContext ctx;
    ctx.support = ctx_.support;
    ctx.evaluator = ctx_.evaluator;
    PutKnown(&ctx);
    AMPC_RETURN_IF_ERROR(BlameMarks(options_.model, RunPipeline(DecidePipeline(options_), Stages(), ctx, program)));
    ReportDecision(program, ctx);
    if (options_.decide_only) ctx_ = std::move(ctx);
    return absl::OkStatus();
  }

  bool MayUpgrade() const {
    return options_.dtype == DType::kBF16 && options_.level != "O0" && program_.origin != nullptr && program_.origin->format() == "onnx";
  }

  void ReportDecision(const Program& program, const PassContext& ctx) {
    const AmpDecision* decision = ctx.Find<AmpDecision>();
    if (decision == nullptr) return;
    if (options_.decided) options_.decided(program, *decision);
    if (options_.plan_out.empty()) return;
    Plan plan = PlanOf(program, *decision);
    plan.measured = options_.ranged;
    plan_ = PlanJson(plan, [this](JsonWriter& json) { WriteConvertConfig(options_, json); });
  }

  absl::Status SetStage(absl::string_view stage) const {
    return !options_.progress || options_.progress({stage, 0, 0}) ? absl::OkStatus() : absl::CancelledError("cancelled by the caller");
  }
  PipelineOptions Stages() const {
    PipelineOptions options;
    options.names_passes = false;
    options.before = [this](const PipelineStep& step) { return SetStage(step.pass); };
    return options;
  }

  // The marks of an earlier conversion come from the file: what they make impossible is its fault.
  absl::Status Run(const Pipeline& pipeline) {
    if (kept_) return absl::OkStatus();
    const absl::Status status = RunPipeline(pipeline, Stages(), ctx_, program_);
    return marked_ ? BlameMarks(options_.model, status) : status;
  }

  // Literals go out with the program, as they are.
  absl::Status MeasureLiterals() {
    absl::Status measured;
    ForEachVar(program_, [&](const Var& var) {
      if (!IsConverted(var) || var.literal == nullptr) return;
      const absl::StatusOr<WeightDamage> damage = DamageOfLiteral(var);
      measured.Update(damage.status());
      if (damage.ok()) result_.damages[var.name()] = *damage;
    });
    return measured;
  }

  ConvertOptions options_;
  const std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<const MeasureExecutor> executor_;
  PassContext ctx_;
  FilesRead read_;
  AtomicFileSet files_;
  AtomicFileSet beside_;  // what is written to the disk although the model is not
  Stopwatch watch_;
  Program program_;
  bool marked_ = false;  // when it was loaded
  bool kept_ = false;    // it was converted before, and stays as it is
  Rescaled rescaled_;
  std::string plan_;  // the file of options_.plan_out
  ConvertResult result_;
};

}  // namespace

absl::StatusOr<ConvertResult> Convert(const ConvertOptions& options) {
  Conversion conversion(options);
  AMPC_RETURN_IF_ERROR(conversion.CheckOptions());
  AMPC_RETURN_IF_ERROR(conversion.Load());
  AMPC_RETURN_IF_ERROR(conversion.VerifyLoaded());
  AMPC_RETURN_IF_ERROR(conversion.Measure());
  AMPC_RETURN_IF_ERROR(conversion.Decide());
  AMPC_RETURN_IF_ERROR(conversion.Rewrite());
  AMPC_RETURN_IF_ERROR(conversion.VerifyRewritten());
  if (options.decide_only) return conversion.Decided();
  AMPC_RETURN_IF_ERROR(conversion.Export());
  AMPC_RETURN_IF_ERROR(conversion.Report());
  return conversion.Commit();
}

}  // namespace ampc
