#include "runtime/profile/profile_model.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/formats/outputs.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "passes/amp/decide/op_times.h"
#include "passes/amp/decide/predicted_run.h"
#include "passes/amp/select/original_names.h"
#include "passes/analysis/target_support.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"
#include "runtime/convert/options.h"
#include "runtime/convert/sizes.h"
#include "runtime/convert/target_numbers.h"
#include "runtime/convert/times.h"
#include "runtime/exec/observer.h"
#include "runtime/feeds.h"
#include "runtime/made_feeds.h"
#include "runtime/profile/step_seconds.h"
#include "runtime/session.h"

namespace ampc {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 2;
constexpr int kLeastRuns = 7;  // in each type

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of this thread, which runs the model alone: whatever else the machine does takes none of it.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least time of each step over runs that make the same steps; a step has the time since the one before, so that conversions between
// layouts count for the step that needs them.
class LeastSeconds : public StepObserver {
 public:
  void BeginRun() { last_ = ThreadSeconds(); }
  absl::Status AfterStep(const ObservedStep& step) override {
    const double now = ThreadSeconds();
    run_.emplace_back(step.op, now - last_);
    last_ = ThreadSeconds();
    return absl::OkStatus();
  }
  void EndRun() {
    const bool same =
        std::equal(run_.begin(), run_.end(), best_.begin(), best_.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (!same) best_ = run_;
    for (size_t i = 0; i < run_.size(); ++i) best_[i].second = std::min(best_[i].second, run_[i].second);
    run_.clear();
  }
  // By Op::id.
  std::vector<double> Seconds(const Program& program) const {
    std::vector<double> seconds(program.num_op_ids(), 0);
    for (const auto& [op, time] : best_) {
      if (op != nullptr) seconds[op->id()] += time;
    }
    return seconds;
  }
  double Sum() const {
    double sum = 0;
    for (const auto& [op, time] : best_) sum += time;
    return sum;
  }

 private:
  double last_ = 0;
  std::vector<std::pair<const Op*, double>> run_, best_;
};

// A program, its session and what was measured of it.
struct Measured {
  Session session;
  LeastSeconds steps;
  double best = 0;  // of a run that nobody observes

  absl::Status Run(const TensorMap& feeds) {
    const double start = ThreadSeconds();
    AMPC_RETURN_IF_ERROR(session.Run(feeds).status());
    const double seconds = ThreadSeconds() - start;
    best = best == 0 ? seconds : std::min(best, seconds);
    steps.BeginRun();
    AMPC_RETURN_IF_ERROR(session.Run(feeds, steps).status());
    steps.EndRun();
    return absl::OkStatus();
  }

  // By Op::id of `program`; with what is between the steps they add up to the run.
  std::vector<double> Seconds(const Program& program, absl::FunctionRef<double(const Op& op)> work) const {
    std::vector<double> seconds = OpSecondsOf(program, session.program(), steps.Seconds(session.program()), work);
    const double scale = steps.Sum() > 0 ? best / steps.Sum() : 1;
    for (double& each : seconds) each *= scale;
    return seconds;
  }
};

absl::StatusOr<Measured> Measure(Program program) {
  AMPC_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(program), {.threads = 1}));
  return Measured{std::move(session), {}, 0};
}

std::vector<ValueInfo> FeedsOf(const Program& program) {
  std::vector<ValueInfo> feeds;
  for (const Var* feed : program.feeds) feeds.push_back({feed->exported(), feed->type});
  return feeds;
}

std::string NameOf(const Op& op) { return op.outputs().empty() ? "" : op.outputs()[0]->name(); }

std::string FeedsText(const TensorMap& feeds) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : feeds) texts.push_back(absl::StrCat(name, " [", absl::StrJoin(value.dims(), ", "), "]"));
  return absl::StrJoin(texts, ", ");
}

class Profiler {
 public:
  explicit Profiler(const ProfileOptions& options) : options_(options), device_(NumbersOfTarget("cpu")), evaluator_(MakeCpuEvaluator()) {}

  absl::StatusOr<ProfileResult> Run() {
    AMPC_RETURN_IF_ERROR(Stage("loading"));
    AMPC_RETURN_IF_ERROR(FindFile());
    AMPC_RETURN_IF_ERROR(Load());
    AMPC_RETURN_IF_ERROR(UseFeeds());
    AMPC_RETURN_IF_ERROR(CheckNotRead({result_.file}, read_));
    AMPC_RETURN_IF_ERROR(Convert());
    AMPC_RETURN_IF_ERROR(MeasureRuns());
    AMPC_RETURN_IF_ERROR(Conclude());
    return std::move(result_);
  }

 private:
  absl::Status Stage(const std::string& stage) const {
    return !options_.progress || options_.progress(stage) ? absl::OkStatus() : absl::CancelledError("cancelled by the caller");
  }

  // Reads the file first: a bad one costs no measuring.
  absl::Status FindFile() {
    result_.device = std::string(device_.name);
    result_.file = options_.file;
    if (result_.file.empty()) {
      AMPC_ASSIGN_OR_RETURN(result_.file, CachedTimes());
    }
    std::vector<std::string> inputs = ModelFiles(options_.model, options_.params);
    for (const std::string& source : options_.inputs) inputs.push_back(FileOfFeeds(source));
    std::error_code ignored;
    if (options_.file.empty()) fs::create_directories(fs::path(result_.file).parent_path(), ignored);  // CheckOutputs says why not
    AMPC_RETURN_IF_ERROR(CheckOutputs({result_.file}, inputs));
    times_.device = result_.device;
    if (!fs::is_regular_file(result_.file, ignored)) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(times_, ReadOpTimes(result_.file));
    if (times_.device == result_.device) return absl::OkStatus();
    return UsageError(absl::StrCat("'", result_.file, "' has times of ", times_.device, ", this machine is ", result_.device,
                                   "; another file is needed"));
  }

  absl::Status Load() {
    AMPC_ASSIGN_OR_RETURN(program_, LoadModel(options_.model, {.params = options_.params}));
    AMPC_RETURN_IF_ERROR(Annotate(Verify(program_), options_.model));
    if (IsConverted(program_))
      return UsageError(absl::StrCat(options_.model, " was converted before, profile needs the original: ampc strip gives it back"));
    convert_.model = options_.model;
    convert_.target = "cpu";
    convert_.dtype = DType::kBF16;
    result_.low = device_.bf16_flops > 0 ? DType::kBF16 : DType::kInvalid;
    AMPC_ASSIGN_OR_RETURN(support_, TargetSupport("cpu"));
    PassContext ctx = Context();
    AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("infer-types"), {}, ctx, program_));
    AMPC_ASSIGN_OR_RETURN(fp32_, Measure(program_.Clone()));
    return absl::OkStatus();
  }

  PassContext Context() const {
    PassContext ctx;
    ctx.support = support_;
    ctx.evaluator = evaluator_.get();
    return ctx;
  }

  absl::Status Convert() {
    if (result_.low == DType::kInvalid) return absl::OkStatus();
    Program low = program_.Clone();
    PassContext ctx = Context();
    AMPC_RETURN_IF_ERROR(RunPipeline(DecidePipeline(convert_), {}, ctx, low));
    const AmpDecision& decision = *ctx.Find<AmpDecision>();
    AMPC_ASSIGN_OR_RETURN(const ProgramSizes sizes, Sizes(low));
    result_.mixed.predicted = Predict(low, decision, TimeModel(low, &sizes, device_, result_.low)).mixed;
    ForEachOp(low, [&](const Op& op) {
      if (decision.For(op).low) low_.insert(NameOf(op));
    });
    decided_ = low.Clone();
    AMPC_RETURN_IF_ERROR(RunPipeline(RewritePipeline(convert_), {}, ctx, low));
    AMPC_ASSIGN_OR_RETURN(mixed_, Measure(std::move(low)));
    return absl::OkStatus();
  }

  absl::Status UseFeeds() {
    if (!options_.inputs.empty()) {
      AMPC_ASSIGN_OR_RETURN(feeds_, ReadFeeds(options_.inputs, FeedsOf(program_)));
    } else {
      std::string note;
      const auto take = [this](const TensorMap& feeds) {
        feeds_ = feeds;
        return fp32_->session.Run(feeds_).status();
      };
      AMPC_RETURN_IF_ERROR(UseFeedsThatFit(program_, {.seed = options_.seed, .dims = options_.dims}, take, &note));
      if (!note.empty()) result_.notes.push_back(note);
    }
    result_.feeds = FeedsText(feeds_);
    return absl::OkStatus();
  }

  // The types take turns, so that what else the machine does slows both.
  absl::Status MeasureRuns() {
    std::vector<Measured*> all = {&*fp32_};
    if (mixed_.has_value()) all.push_back(&*mixed_);
    for (const Measured* each : all) {
      for (int i = 0; i < kWarmUp; ++i) AMPC_RETURN_IF_ERROR(each->session.Run(feeds_).status());
    }
    AMPC_RETURN_IF_ERROR(Stage("measuring"));
    const double limit = options_.seconds * static_cast<double>(all.size());
    const Clock::time_point start = Clock::now();
    for (; result_.runs < kLeastRuns || SecondsSince(start) < limit; ++result_.runs) {
      AMPC_RETURN_IF_ERROR(Stage("measuring"));
      for (Measured* each : all) AMPC_RETURN_IF_ERROR(each->Run(feeds_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ProgramSizes> Sizes(const Program& program) const {
    FeedDims dims;
    for (const auto& [name, tensor] : feeds_) dims[name].assign(tensor.dims().begin(), tensor.dims().end());
    AMPC_ASSIGN_OR_RETURN(const Program sized, WithDims(program, dims));
    return SizesOf(program, sized);
  }

  // Adds the ops of a program for which a conversion may ask, alike ones with their mean; `told` gets them one by one.
  absl::Status AddTimes(const Program& program, std::vector<ProfiledOp>* told) {
    AMPC_ASSIGN_OR_RETURN(const ProgramSizes sizes, Sizes(program));
    const TimeModel model(program, &sizes, device_, convert_.dtype);
    const std::vector<double> fp32 = fp32_->Seconds(program, [&](const Op& op) { return model.OpSeconds(op, false); });
    std::vector<double> low(program.num_op_ids(), 0);
    if (mixed_.has_value()) low = mixed_->Seconds(program, [&](const Op& op) { return model.OpSeconds(op, true); });
    const std::vector<uint64_t> keys = SizedKeys(program, sizes);
    const OriginalNames names(program);
    std::map<uint64_t, std::vector<ProfiledOp>> alike;
    double predicted = 0;
    ForEachOp(program, [&](const Op& op) {
      ProfiledOp one;
      one.type = op.type();
      one.fp32 = fp32[op.id()];
      one.predicted_fp32 = model.OpSeconds(op, false);
      predicted += one.predicted_fp32;
      if (op.outputs().empty()) return;
      one.value = names.Of(*op.outputs()[0]).exported();
      if (low_.contains(NameOf(op))) {
        one.low = low[op.id()];
        one.predicted_low = model.OpSeconds(op, true);
      }
      if (one.fp32 > 0 || one.low.value_or(0) > 0) told->push_back(one);
      alike[keys[op.id()]].push_back(std::move(one));
    });
    result_.fp32 = {fp32_->best, predicted};
    for (const auto& [key, ops] : alike) {
      const double part = 1.0 / static_cast<double>(ops.size());
      OpTime time;
      time.type = ops[0].type;
      for (const ProfiledOp& op : ops) {
        time.fp32 += op.fp32 * part;
        if (op.low.has_value()) time.bf16 = time.bf16.value_or(0) + *op.low * part;
      }
      times_.ops[key] = std::move(time);
    }
    return absl::OkStatus();
  }

  absl::Status Conclude() {
    if (mixed_.has_value()) {
      // A conversion to bf16 may raise an ONNX model's operator set, which changes ops: they are known in both forms.
      AMPC_RETURN_IF_ERROR(AddTimes(decided_, &result_.ops));
      std::vector<ProfiledOp> same;
      AMPC_RETURN_IF_ERROR(AddTimes(program_, &same));
      result_.mixed.measured = mixed_->best;
    } else {
      AMPC_RETURN_IF_ERROR(AddTimes(program_, &result_.ops));
    }
    std::stable_sort(result_.ops.begin(), result_.ops.end(), [](const ProfiledOp& a, const ProfiledOp& b) { return a.fp32 > b.fp32; });
    result_.known = times_.ops.size();
    return WriteFileAtomically(result_.file, OpTimesJson(times_));
  }

  const ProfileOptions& options_;
  const DeviceNumbers& device_;
  const std::unique_ptr<Evaluator> evaluator_;
  const PrecisionSupport* support_ = nullptr;
  FilesRead read_;
  ConvertOptions convert_;
  Program program_, decided_;  // as it is; as the conversion decided about it
  std::set<std::string> low_;  // results of ops that are low in `mixed_`
  std::optional<Measured> fp32_, mixed_;
  TensorMap feeds_;
  OpTimes times_;
  ProfileResult result_;
};

void WriteRun(const char* key, const ProfiledRun& run, JsonWriter& json) {
  json.Key(key).BeginObject(JsonWriter::kInline).Field("seconds", run.measured).Field("predicted", run.predicted).EndObject();
}

}  // namespace

absl::StatusOr<ProfileResult> ProfileModel(const ProfileOptions& options) { return Profiler(options).Run(); }

std::string ProfileJson(const ProfileOptions& options, const ProfileResult& result) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", options.model).Field("device", result.device).Field("feeds", result.feeds).Field("runs", result.runs);
  WriteRun("fp32", result.fp32, json);
  if (result.low != DType::kInvalid) WriteRun(DTypeWord(result.low), result.mixed, json);
  json.Field("file", result.file).Field("known_ops", result.known).Key("ops").BeginArray();
  for (const ProfiledOp& op : result.ops) {
    json.BeginObject(JsonWriter::kInline).Field("op", op.type).Field("value", op.value).Field("fp32", op.fp32);
    json.Field("predicted_fp32", op.predicted_fp32);
    if (op.low.has_value())
      json.Field(DTypeWord(result.low), *op.low).Field(absl::StrCat("predicted_", DTypeWord(result.low)), *op.predicted_low);
    json.EndObject();
  }
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
