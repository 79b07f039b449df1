#include "runtime/tune/tune.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/formats/outputs.h"
#include "runtime/convert/measure_executor.h"
#include "runtime/feed_words.h"
#include "runtime/feeds.h"
#include "runtime/made_feeds.h"
#include "runtime/tune/judge.h"
#include "runtime/tune/search.h"
#include "runtime/tune/trials.h"
#include "runtime/tune/tuned_model.h"

namespace ampc {
namespace {

absl::Status CheckOptions(const TuneOptions& o) {
  if (o.inputs.empty() && o.made <= 0) return UsageError("tune needs inputs to run the model on");
  if (o.budget.has_value() && !(*o.budget > 0)) return UsageError(absl::StrCat("--budget is ", *o.budget, ", needs to be above 0"));
  if (o.evaluations < 2) return UsageError(absl::StrCat("--evaluations is ", o.evaluations, ", at least 2 are needed"));
  if (o.goal != "time" && o.goal != "flops") return UsageError(absl::StrCat("--goal is '", o.goal, "', time or flops is needed"));
  if (!o.plot.empty() && o.picture == nullptr) return UsageError("nothing draws the picture");
  std::vector<std::string> read = ModelFiles(o.convert.model, o.convert.params);
  for (const std::string& input : o.inputs) read.push_back(FileOfFeeds(input));
  read.insert(read.end(), o.convert.also_read.begin(), o.convert.also_read.end());
  return CheckOutputs({o.plan_out, o.plot}, read);
}

std::vector<ValueInfo> FeedsOf(const Program& program) {
  std::vector<ValueInfo> feeds;
  for (const Var* feed : program.feeds) feeds.push_back({feed->exported(), feed->type});
  return feeds;
}

// Inputs of all runs have the dims of the first.
absl::StatusOr<std::unique_ptr<Trials>> RunOnMade(const TuneOptions& options, const TunedModel& model, std::string* note) {
  std::unique_ptr<Trials> trials;
  const auto use = [&](const TensorMap& first) -> absl::Status {
    std::vector<TensorMap> inputs = {first};
    MadeFeedOptions more{.seed = options.seed};
    for (const auto& [name, tensor] : first) more.dims[name].assign(tensor.dims().begin(), tensor.dims().end());
    for (more.run = 1; more.run < options.made; ++more.run) {
      AMPC_ASSIGN_OR_RETURN(MadeFeeds made, MakeFeeds(model.program(), more));
      inputs.push_back(std::move(made.feeds));
    }
    AMPC_ASSIGN_OR_RETURN(trials, Trials::Create(model, std::move(inputs), options.threads));
    return absl::OkStatus();
  };
  MadeFeedOptions made{.seed = options.seed};
  AMPC_ASSIGN_OR_RETURN(made.dims, ParseDimsOptions(options.convert.feed_dims));
  AMPC_RETURN_IF_ERROR(UseFeedsThatFit(model.program(), made, use, note));
  return trials;
}

absl::StatusOr<std::unique_ptr<Trials>> RunOriginal(const TuneOptions& options, const TunedModel& model, std::string* note) {
  if (options.inputs.empty()) return RunOnMade(options, model, note);
  AMPC_ASSIGN_OR_RETURN(const FeedOptions feeds, FeedOptionsOf(options.convert));
  AMPC_ASSIGN_OR_RETURN(std::vector<FeedsOfARun> runs, ReadRuns(options.inputs, FeedsOf(model.program()), feeds));
  std::vector<TensorMap> inputs;
  for (FeedsOfARun& run : runs) inputs.push_back(std::move(run.feeds));
  return Trials::Create(model, std::move(inputs), options.threads);
}

// Says whether a trial is good enough, by the options.
class Requirement {
 public:
  Requirement(const TuneOptions& options, const Trials& trials) : options_(options), trials_(trials) {}

  absl::StatusOr<bool> operator()(const Trial& trial, const std::vector<int>& inputs) const {
    if (options_.budget.has_value() && !(trial.error <= *options_.budget)) return false;
    if (options_.judge.empty()) return options_.budget.has_value() || trial.passed;
    std::vector<JudgedRun> runs;
    for (size_t i = 0; i < inputs.size(); ++i) runs.push_back({inputs[i], &trial.outputs[i], &trials_.reference(inputs[i])});
    return AskJudge(options_.judge, runs);
  }

 private:
  const TuneOptions& options_;
  const Trials& trials_;
};

void WritePoint(const TunePoint& point, JsonWriter& json) {
  json.BeginObject(JsonWriter::kInline).Field("seconds", point.predicted.mixed).Field("cost", point.cost).Field("bytes", point.bytes);
  json.Field("casts", point.predicted.casts).Field("low_ops", point.low_ops).Field("low_flops_share", point.low_flops);
  json.Field("error", point.error).Field("good", point.good);
  if (point.held_back_error.has_value()) json.Field("held_back_error", *point.held_back_error);
  if (point.held_back_good.has_value()) json.Field("held_back_good", *point.held_back_good);
  json.Field("why", point.why).EndObject();
}

void NoteWhatIsSpecial(const TuneOptions& options, const TuneResult& result, std::vector<std::string>* notes) {
  if (result.held_back == 0 && result.inputs == 1)
    notes->push_back("one input both decides and verifies: give more to have some held back");
  if (result.goal == options.goal) return;
  notes->push_back(absl::StrCat("on ", result.device, " nothing is predicted to be faster low: as many flops as possible are low instead"));
}

}  // namespace

bool TuneResult::OnFront(size_t point) const {
  const TunePoint& p = points[point];
  return std::none_of(points.begin(), points.end(), [&](const TunePoint& other) {
    return other.cost <= p.cost && other.error <= p.error && (other.cost < p.cost || other.error < p.error);
  });
}

absl::StatusOr<TuneResult> Tune(const TuneOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  AMPC_RETURN_IF_ERROR(CheckOptions(options));
  if (options.progress && !options.progress("loading", 0)) return absl::CancelledError("cancelled by the caller");
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<TunedModel> model, TunedModel::Load(options.convert));
  TuneResult result;
  result.options = model->options();
  result.device = std::string(model->device().name);
  result.candidates = static_cast<int>(model->candidates().size());
  result.notes = model->notes();

  if (options.progress && !options.progress("running the original", 0)) return absl::CancelledError("cancelled by the caller");
  std::string note;
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Trials> trials, RunOriginal(options, *model, &note));
  if (!note.empty()) result.notes.push_back(note);
  const int runs = trials->count();
  const int held_back = runs == 1 ? 0 : (runs + 4) / 5;
  model->UseSizesOf(trials->input(0));  // a conversion without inputs has to guess them
  std::vector<int> inputs(runs);
  std::iota(inputs.begin(), inputs.end(), 0);
  const auto border = inputs.begin() + (runs - held_back);
  Search search(*model, *trials, options, Requirement(options, *trials), &result);
  AMPC_RETURN_IF_ERROR(search.Run({inputs.begin(), border}, {border, inputs.end()}));
  NoteWhatIsSpecial(options, result, &result.notes);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  AtomicFileSet files;
  if (!options.plan_out.empty() && result.chosen.has_value()) {
    AMPC_RETURN_IF_ERROR(files.AddBefore(options.plan_out, model->PlanText(search.chosen(), search.Reasons())));
  }
  if (!options.plot.empty()) AMPC_RETURN_IF_ERROR(files.AddBefore(options.plot, options.picture(result)));
  AMPC_RETURN_IF_ERROR(files.Commit());
  return result;
}

std::string TuneJson(const TuneResult& result) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", result.options.model).Field("dtype", DTypeWord(result.options.dtype)).Field("device", result.device);
  json.Field("goal", result.goal);
  json.Field("found", result.chosen.has_value()).Field("inputs", result.inputs).Field("held_back", result.held_back);
  json.Field("candidates", result.candidates).Field("evaluations", result.evaluations).Field("partial_evaluations", result.partial);
  json.Field("whole_runs", result.whole_runs).Field("seconds", result.seconds);
  json.Key("chosen");
  result.chosen.has_value() ? json.Int(static_cast<int64_t>(*result.chosen)) : json.Null();
  json.Field("best", result.best).Key("points").BeginArray();
  for (const TunePoint& point : result.points) WritePoint(point, json);
  json.EndArray().Key("kept_fp32").BeginArray();
  for (const std::string& name : result.kept) json.String(name);
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
