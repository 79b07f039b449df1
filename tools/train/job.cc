#include "tools/train/job.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/compare/difference.h"
#include "runtime/exec/check_finite.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/decorate.h"

namespace ampc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr char kBest[] = "/best";  // the folder of the best checkpoint, below that of all
constexpr int kTestBatch = 250;
constexpr int64_t kAlarmAfter = 50;   // skipped steps in a row
constexpr int64_t kRandomSteps = 50;  // of an epoch on random data, as in Paddle's tutorial

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double ScalarOf(const TensorMap& tensors, const std::string& name) {
  const auto it = tensors.find(name);
  const std::vector<double> values = it == tensors.end() ? std::vector<double>() : ToDoubles(it->second);
  return values.empty() ? NAN : values[0];
}

// The progress of the training; travels in checkpoints as whole numbers.
struct Progress {
  int64_t epoch = 0, batch = 0;  // the next ones
  double loss_sum = 0;           // of this epoch
  int64_t losses = 0, skipped = 0;
  double best = 0;  // accuracy

  DataPosition Save() const {
    return {{"epoch", epoch},   {"batch", batch},     {"loss_sum_bits", std::bit_cast<int64_t>(loss_sum)},
            {"losses", losses}, {"skipped", skipped}, {"best_bits", std::bit_cast<int64_t>(best)}};
  }
  static Progress Load(const DataPosition& from) {
    const auto at = [&from](const char* name) {
      const auto it = from.find(name);
      return it == from.end() ? int64_t{0} : it->second;
    };
    return {at("epoch"),  at("batch"),   std::bit_cast<double>(at("loss_sum_bits")),
            at("losses"), at("skipped"), std::bit_cast<double>(at("best_bits"))};
  }
};

// The other options that decide the order of the data; a run that is resumed must have the same.
DataPosition OrderOf(const TrainRequest& request) {
  return {{"seed", std::bit_cast<int64_t>(request.seed)}, {"rows", request.batch}, {"accumulate", request.accumulate}};
}

}  // namespace

struct TrainJob::State {
  TrainRequest request;
  const DataParallel* parallel = nullptr;
  std::unique_ptr<BatchSource> train, test;
  std::optional<Trainer> trainer;
  Program test_program;
  std::string loss, accuracy_name, output;
  std::vector<std::string> notes;
  StepReport last;  // without its fetches
  Progress progress;

  bool is_main() const { return parallel == nullptr || parallel->is_main(); }
  absl::Status Prepare(const NetworkInfo& network);
  absl::StatusOr<TrainingProgram> Build(const ProgramBuilder& builder) const;
  absl::Status MakeSources(const NetworkInfo& network, const Dataset* data);
  absl::Status Step(const TrainEvents& events);
  // Before its end, or that of the training.
  bool InEpoch() const { return progress.batch < train->steps() && !(request.steps > 0 && Done()); }
  absl::Status EndEpoch(const TrainEvents& events, double seconds);
  absl::Status CheckState(absl::string_view file, const TrainEvents& events) const;
  // In the folder that was asked for, or in `best`, the folder in it with the checkpoint whose test went best.
  absl::Status SaveCheckpoint(const TrainEvents& events, bool best = false) const;
  absl::Status Restore(const TrainEvents& events);
  bool Done() const { return request.steps > 0 ? trainer->steps() >= request.steps : progress.epoch >= request.epochs; }
  int64_t TestBatches() const;
  absl::Status Accuracy(EpochRecord& record);
  double PartOfAll() const;
};

absl::Status TrainJob::State::MakeSources(const NetworkInfo& network, const Dataset* data) {
  BatchOptions options;
  options.batch = request.batch;
  options.seed = request.seed;
  options.drop_last = true;
  if (network.data == NetworkData::kRandom) {
    AMPC_ASSIGN_OR_RETURN(train, RandomBatches(network.features, kRandomSteps, options));
    return absl::OkStatus();
  }
  if (data == nullptr) return InternalError("a network on images was given no images");
  AMPC_ASSIGN_OR_RETURN(train, ImageBatches(data->train, options));
  AMPC_ASSIGN_OR_RETURN(test, ImageBatches(data->test, {.batch = kTestBatch, .shuffle = false}));
  return absl::OkStatus();
}

absl::Status TrainJob::State::Prepare(const NetworkInfo& network) {
  AMPC_ASSIGN_OR_RETURN(Optimizer optimizer, MakeOptimizer(request, network));
  ProgramBuilder b(network.name, request.seed);
  const Network net = network.build(b);
  AMPC_RETURN_IF_ERROR(b.status());
  loss = net.loss.var->name();
  output = net.output.var->name();
  accuracy_name = net.accuracy.var == nullptr ? "" : net.accuracy.var->name();
  for (const Value fetch : {net.loss, net.output, net.accuracy}) {
    if (fetch.var != nullptr) b.Fetch(fetch);
  }
  test_program = b.CloneForTest();
  b.program().fetches.resize(1);  // a step gives its loss

  TrainerOptions trainer_options;
  trainer_options.device = request.device;
  trainer_options.threads = request.threads;
  trainer_options.accumulate = request.accumulate;
  trainer_options.check_nan_inf = request.check_nan_inf;
  trainer_options.loss = loss;
  trainer_options.keep_going = request.keep_going;
  trainer_options.alarm_after = kAlarmAfter;
  trainer_options.log = [this](const StepReport& report) {
    last = report;
    last.fetches = nullptr;
  };
  if (request.level == "O0") {
    AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(b.program(), *net.loss.var));
    AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(b.program(), b.startup(), gradients).status());
    AMPC_ASSIGN_OR_RETURN(trainer, Trainer::Create(Build(b), trainer_options));
  } else {
    amp::DecorateOptions options;
    options.init_loss_scaling = request.init_scale;
    options.level = request.level;
    options.dtype = request.dtype;
    options.use_pure_fp16 = request.level == "O2";
    if (request.level == "O2") options.use_fp16_guard = request.guard;
    const auto decorated = amp::Decorate(std::move(optimizer), options);
    AMPC_RETURN_IF_ERROR(decorated->Minimize(b, net.loss));
    notes = decorated->rewrite().notes;
    if (request.dtype == DType::kBF16 && !request.init_scale.has_value())
      notes.push_back("bf16 has the range of fp32: the loss is not scaled");
    AMPC_ASSIGN_OR_RETURN(trainer, Trainer::Create(Build(b), trainer_options));
    AMPC_RETURN_IF_ERROR(
        decorated->AmpInit(trainer_options, trainer->scope(), {.test_program = &test_program, .use_fp16_test = request.level == "O2"}));
  }
  if (parallel != nullptr) AMPC_RETURN_IF_ERROR(parallel->Synchronize(trainer->scope()));
  return trainer->SetTestProgram(test_program.Clone());
}

absl::StatusOr<TrainingProgram> TrainJob::State::Build(const ProgramBuilder& builder) const {
  AMPC_ASSIGN_OR_RETURN(TrainingProgram program, builder.Build());
  if (parallel != nullptr) AMPC_RETURN_IF_ERROR(parallel->Prepare(program.main));
  return program;
}

absl::Status TrainJob::State::CheckState(absl::string_view file, const TrainEvents& events) const {
  for (const auto& [name, variable] : trainer->scope().variables()) {
    const absl::Status finite = CheckFinite(name, variable.dtype, variable.value);
    if (finite.ok()) continue;
    const std::string what = absl::StrCat("'", file, "': after step ", trainer->steps(), " ", finite.message());
    if (!request.keep_going) return NoError(absl::StrCat(what, "; it is not written"));
    if (events.note != nullptr) events.note(absl::StrCat(what, "; it is written nevertheless"));
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status TrainJob::State::SaveCheckpoint(const TrainEvents& events, bool best) const {
  if (!is_main()) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(CheckState(request.checkpoint, events));
  DataPosition all = progress.Save();
  all.merge(OrderOf(request));
  return best ? trainer->Save(request.checkpoint + kBest, all, 1) : trainer->Save(request.checkpoint, all);
}

absl::Status TrainJob::State::Restore(const TrainEvents& events) {
  AMPC_ASSIGN_OR_RETURN(const RestoredCheckpoint restored, trainer->Restore(request.checkpoint));
  for (const auto& [name, value] : OrderOf(request)) {
    const auto it = restored.position.find(name);
    if (it == restored.position.end() || it->second == value) continue;
    return UsageError(absl::StrCat("--resume: found a checkpoint made with --", name == "rows" ? "batch" : name, " ", it->second, " in '",
                                   restored.path, "', needed the same as now, ", value));
  }
  progress = Progress::Load(restored.position);
  if (is_main()) {  // a training that is at its end saves nothing more
    RemoveUnfinishedSaves(request.checkpoint);
    RemoveUnfinishedSaves(request.checkpoint + kBest);
  }
  if (parallel != nullptr) AMPC_RETURN_IF_ERROR(parallel->Synchronize(trainer->scope()));
  if (events.note == nullptr) return absl::OkStatus();
  for (const std::string& note : restored.notes) events.note(note);
  events.note(absl::StrCat("going on from '", restored.path, "' after step ", restored.steps));
  return absl::OkStatus();
}

absl::Status TrainJob::State::Step(const TrainEvents& events) {
  const Clock::time_point start = Clock::now();
  AMPC_ASSIGN_OR_RETURN(TensorMap feeds, train->Batch(progress.epoch, progress.batch));
  if (parallel != nullptr) {
    AMPC_ASSIGN_OR_RETURN(feeds, parallel->Share(feeds));
  }
  AMPC_ASSIGN_OR_RETURN(const TensorMap out, trainer->Step(feeds));
  StepRecord record;
  record.loss = ScalarOf(out, loss);
  if (parallel != nullptr) {
    AMPC_ASSIGN_OR_RETURN(record.loss, parallel->Mean(record.loss));
  }
  if (std::isfinite(record.loss)) {
    progress.loss_sum += record.loss;
    ++progress.losses;
  }
  for (const ScalerReport& scaler : last.scalers) {
    record.scale = scaler.scale;
    record.skipped = record.skipped || (last.updated && scaler.found_inf);
  }
  record.skipped = record.skipped || (last.updated && !last.loss_finite);
  progress.skipped += record.skipped ? 1 : 0;
  ++progress.batch;
  record.epoch = progress.epoch + 1;
  record.step = trainer->steps();
  record.progress = static_cast<double>(progress.batch) / static_cast<double>(train->steps());
  record.of_all = PartOfAll();
  record.learning_rate = last.learning_rates.empty() ? 0 : last.learning_rates[0];
  record.alarm = last.alarm;
  record.seconds = SecondsSince(start);
  if (events.step != nullptr) events.step(record);
  const bool saves = request.checkpoint_every > 0 && !request.checkpoint.empty() && trainer->steps() % request.checkpoint_every == 0;
  if (saves && InEpoch()) return SaveCheckpoint(events);  // EndEpoch saves its last step
  return absl::OkStatus();
}

absl::Status TrainJob::State::EndEpoch(const TrainEvents& events, double seconds) {
  EpochRecord record;
  record.epoch = progress.epoch + 1;
  record.step = trainer->steps();
  record.loss = progress.losses == 0 ? NAN : progress.loss_sum / static_cast<double>(progress.losses);
  record.skipped = progress.skipped;
  record.seconds = seconds;
  for (const ScalerReport& scaler : trainer->scalers()) record.scale = scaler.scale;
  const Clock::time_point start = Clock::now();
  if (request.test && is_main()) AMPC_RETURN_IF_ERROR(Accuracy(record));
  record.test_seconds = SecondsSince(start);
  record.best = record.accuracy.has_value() && *record.accuracy > progress.best;
  if (record.best) progress.best = *record.accuracy;
  if (progress.batch >= train->steps()) progress = {.epoch = progress.epoch + 1, .best = progress.best};
  if (events.epoch != nullptr) events.epoch(record);
  if (request.checkpoint.empty()) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(SaveCheckpoint(events));
  return record.best ? SaveCheckpoint(events, true) : absl::OkStatus();
}

double TrainJob::State::PartOfAll() const {
  if (request.steps > 0) return static_cast<double>(trainer->steps()) / static_cast<double>(request.steps);
  const double epoch = static_cast<double>(progress.epoch) + static_cast<double>(progress.batch) / static_cast<double>(train->steps());
  return epoch / static_cast<double>(request.epochs);
}

int64_t TrainJob::State::TestBatches() const {
  if (request.test_batches > 0) return std::min(request.test_batches, test->steps());
  if (progress.batch >= train->steps()) return test->steps();
  return std::min((progress.batch * request.batch + kTestBatch - 1) / kTestBatch, test->steps());
}

absl::Status TrainJob::State::Accuracy(EpochRecord& record) {
  if (test == nullptr) return absl::OkStatus();
  double right = 0;
  for (int64_t step = 0; step < TestBatches(); ++step) {
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, test->Batch(0, step));
    AMPC_ASSIGN_OR_RETURN(const TensorMap out, trainer->Test(feeds));
    const int64_t rows = feeds.at("y").num_elements();
    right += static_cast<double>(rows) * ScalarOf(out, accuracy_name);
    record.test_rows += rows;
  }
  if (record.test_rows > 0) record.accuracy = right / static_cast<double>(record.test_rows);
  return absl::OkStatus();
}

TrainJob::TrainJob(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrainJob::~TrainJob() = default;

absl::StatusOr<std::unique_ptr<TrainJob>> TrainJob::Create(const TrainRequest& request, const Dataset* data, const DataParallel* parallel) {
  AMPC_ASSIGN_OR_RETURN(const NetworkInfo* network, FindNetwork(request.network));
  auto state = std::make_unique<State>();
  state->request = request;
  state->parallel = parallel;
  if (request.batch <= 0) state->request.batch = network->batch;
  AMPC_RETURN_IF_ERROR(state->MakeSources(*network, data));
  AMPC_RETURN_IF_ERROR(state->Prepare(*network));
  return std::unique_ptr<TrainJob>(new TrainJob(std::move(state)));
}

absl::Status TrainJob::Run(const TrainEvents& events) {
  State& s = *state_;
  for (const std::string& note : s.notes) {
    if (events.note != nullptr) events.note(note);
  }
  if (s.request.resume) AMPC_RETURN_IF_ERROR(s.Restore(events));
  while (!s.Done()) {
    const Clock::time_point start = Clock::now();
    while (s.InEpoch()) AMPC_RETURN_IF_ERROR(s.Step(events));
    AMPC_RETURN_IF_ERROR(s.EndEpoch(events, SecondsSince(start)));
  }
  return absl::OkStatus();
}

absl::Status TrainJob::CheckState(absl::string_view file, const TrainEvents& events) { return state_->CheckState(file, events); }
Trainer& TrainJob::trainer() { return *state_->trainer; }
const Program& TrainJob::test_program() const { return state_->test_program; }
const std::string& TrainJob::output_name() const { return state_->output; }

std::vector<std::string> DescribeCasts(const Program& program) {
  std::vector<std::vector<const Op*>> readers(program.num_var_ids());
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    for (const Var* var : op->inputs()) readers[var->id()].push_back(op.get());
  }
  std::vector<std::string> lines;
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    if (op->type() != "cast" || op->marks.amp != AmpMark::kInserted) continue;
    const Var& from = *op->input(0);
    const Var& to = *op->output(0);
    std::string line = absl::StrCat("cast ", from.name(), " ", Name(from.type.dtype), " -> ", Name(to.type.dtype), " for");
    for (const Op* reader : readers[to.id()]) absl::StrAppend(&line, reader == readers[to.id()][0] ? " " : ", ", Describe(*reader));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ampc
