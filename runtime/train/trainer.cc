#include "runtime/train/trainer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/verify.h"
#include "runtime/exec/check_finite.h"
#include "runtime/exec/choose_device.h"
#include "runtime/exec/feed_checks.h"
#include "runtime/exec/program_runner.h"
#include "runtime/train/init_scope.h"
#include "runtime/train/join_devices.h"
#include "runtime/train/scalers.h"
#include "runtime/train/step_runner.h"

namespace ampc {
namespace {

// One number of a scope's variable, or of a literal; 0 for another variable.
double Number(const Var& var, const Scope& scope) {
  const Scope::Variable* kept = scope.Find(var.name());
  const HostTensor* value = kept != nullptr ? &kept->value : var.literal.get();
  if (value == nullptr || value->num_elements() != 1) return 0;
  if (value->dtype() == DType::kF32) return value->values<float>()[0];
  return value->dtype() == DType::kF64 ? value->values<double>()[0] : 0;
}

// Copies of variables, to be put back.
using Snapshot = std::vector<HostTensor>;

Snapshot Take(const std::vector<std::string>& names, const Scope& scope) {
  Snapshot values;
  for (const std::string& name : names) values.push_back(scope.Find(name)->value);
  return values;
}

absl::Status PutBack(const std::vector<std::string>& names, const Snapshot& values, Scope& scope) {
  for (size_t i = 0; i < names.size(); ++i) AMPC_RETURN_IF_ERROR(scope.Set(names[i], values[i]));
  return absl::OkStatus();
}

}  // namespace

struct Trainer::State {
  // The batches since the last update, and the state in front of them: kept when the next overflow is reported.
  struct Watch {
    Snapshot before;
    std::vector<TensorMap> batches;
  };

  absl::StatusOr<TensorMap> Step(const TensorMap& feeds);
  absl::Status Enqueue(const TensorMap& feeds);
  const DeviceTarget* target() const { return where.target.has_value() ? &*where.target : nullptr; }
  void StartWatch();
  absl::Status CountSkips();
  bool AlarmIsDue() const;
  bool StopsAtFloor() const { return !options.loss.empty() && !options.keep_going; }
  absl::StatusOr<std::string> FirstOfWatch();
  std::string BadState() const;
  absl::StatusOr<std::string> FindOverflow();
  CheckpointOptions Checkpoints() const;
  StepPart Part() const { return {micro == 0, micro + 1 >= options.accumulate}; }
  bool SkippedForGood() const;
  absl::Status Ended(const TensorMap& feeds);
  void Report(const TensorMap& fetches, bool updated, std::string alarm) const;

  Program main;
  TrainerOptions options;
  DeviceChoice where;
  Scope scope;
  std::optional<StepRunner> runner;
  std::unique_ptr<ProgramRunner> test;
  std::vector<ScalerView> scales;  // as `scalers`
  std::vector<const Var*> rates;
  std::vector<std::string> shown;  // names of both
  std::vector<ScalerReport> scalers;
  int64_t steps = 0;
  int64_t updates = 0;
  int64_t micro = 0;
  std::optional<Watch> watch;
  TensorMap without_loss;  // the first batch since the last update whose loss is not finite; empty for none
};

void Trainer::State::StartWatch() {
  watch.reset();
  bool next = false;
  for (size_t i = 0; i < scalers.size(); ++i) {
    next = next || (options.alarm_after > 0 && (scalers[i].skipped_in_a_row + 1) % options.alarm_after == 0);
    next = next || (StopsAtFloor() && scalers[i].scale <= scales[i].floor);
  }
  if (next) watch.emplace(Watch{Take(runner->written(), scope), {}});
}

absl::Status Trainer::State::CountSkips() {
  AMPC_RETURN_IF_ERROR(scope.Refresh(shown));
  for (size_t i = 0; i < scalers.size(); ++i) {
    ScalerReport& s = scalers[i];
    s.found_inf = runner->found_inf()[i];
    s.at_floor = s.found_inf && s.scale <= scales[i].floor;
    s.skipped += s.found_inf ? 1 : 0;
    s.skipped_in_a_row = s.found_inf ? s.skipped_in_a_row + 1 : 0;
    s.scale = Number(*scales[i].scale, scope);
  }
  return absl::OkStatus();
}

bool Trainer::State::AlarmIsDue() const {
  return options.alarm_after > 0 && watch.has_value() && std::any_of(scalers.begin(), scalers.end(), [this](const ScalerReport& s) {
           return s.found_inf && s.skipped_in_a_row % options.alarm_after == 0;
         });
}

// Runs the watched batches once more on the state in front of them, checked, and puts the present state back.
absl::StatusOr<std::string> Trainer::State::FindOverflow() {
  AMPC_ASSIGN_OR_RETURN(const std::string first, FirstOfWatch());
  int64_t in_a_row = 0;
  for (const ScalerReport& s : scalers) in_a_row = std::max(in_a_row, s.skipped_in_a_row);
  return absl::StrCat(in_a_row, " steps in a row were skipped; ", first);
}

absl::StatusOr<std::string> Trainer::State::FirstOfWatch() {
  const Snapshot now = Take(runner->written(), scope);
  AMPC_RETURN_IF_ERROR(PutBack(runner->written(), watch->before, scope));
  FirstNotFinite finite;
  absl::Status ran;
  for (size_t i = 0; i < watch->batches.size() && ran.ok(); ++i) {
    const absl::StatusOr<std::vector<const HostTensor*>> values = OrderFeeds(main, watch->batches[i]);
    TensorMap unused;
    ran = values.ok() ? runner->Run(*values, {i == 0, i + 1 == watch->batches.size()}, &finite, &unused) : values.status();
  }
  AMPC_RETURN_IF_ERROR(PutBack(runner->written(), now, scope));
  AMPC_RETURN_IF_ERROR(ran);
  return finite.first().ok() ? "every result was finite when the batch ran again" : std::string(finite.first().message());
}

// No smaller scale can help.
bool Trainer::State::SkippedForGood() const {
  const auto at_floor = [](const ScalerReport& s) { return s.at_floor; };
  if (std::any_of(scalers.begin(), scalers.end(), at_floor)) return true;
  if (runner->all_losses_were_finite()) return false;
  for (size_t i = 0; i < scalers.size(); ++i) {
    if (scalers[i].found_inf && scales[i].floor > 0) return false;
  }
  return true;
}

// A state that is not finite is older than the step.
std::string Trainer::State::BadState() const {
  for (const auto& [name, variable] : scope.variables()) {
    const absl::Status finite = CheckFinite(name, variable.dtype, variable.value);
    if (!finite.ok()) return absl::StrCat("an update before it has left ", finite.message());
  }
  return "";
}

// After a step that changed nothing: why training ends.
absl::Status Trainer::State::Ended(const TensorMap& feeds) {
  const bool no_loss = !runner->all_losses_were_finite();
  std::string first = options.keep_skipped_statistics ? "" : BadState();
  if (first.empty()) {
    if (no_loss) watch.emplace(Watch{Take(runner->written(), scope), {without_loss.empty() ? feeds : without_loss}});
    AMPC_ASSIGN_OR_RETURN(first, FirstOfWatch());
  }
  const std::string what =
      no_loss ? absl::StrCat("the loss '", options.loss, "' is not finite") : "a gradient is not finite at the smallest scale of the loss";
  return NoError(absl::StrCat("training step ", steps, ": ", what, "; ", first));
}

void Trainer::State::Report(const TensorMap& fetches, bool updated, std::string alarm) const {
  if (options.log == nullptr) return;
  StepReport report;
  report.step = steps - 1;
  report.updated = updated;
  report.loss_finite = runner->all_losses_were_finite();
  report.fetches = &fetches;
  report.scalers = scalers;
  report.alarm = std::move(alarm);
  for (const Var* rate : rates) report.learning_rates.push_back(Number(*rate, scope));
  options.log(report);
}

absl::StatusOr<TensorMap> Trainer::State::Step(const TensorMap& feeds) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, OrderFeeds(main, feeds));
  const StepPart part = Part();
  const bool update = part.last;
  if (part.first) StartWatch();
  if (watch.has_value()) watch->batches.push_back(feeds);
  FiniteObserver finite;
  TensorMap fetches;
  const absl::Status ran = runner->Run(values, part, options.check_nan_inf ? &finite : nullptr, &fetches);
  if (!ran.ok()) return ExitCodeOf(ran) == ExitCode::kNo ? Annotate(ran, absl::StrCat("training step ", steps + 1)) : ran;
  ++steps;
  micro = update ? 0 : micro + 1;
  if (part.first) without_loss.clear();
  if (!runner->loss_was_finite() && without_loss.empty()) without_loss = feeds;
  std::string alarm;
  if (update) {
    ++updates;
    AMPC_RETURN_IF_ERROR(CountSkips());
    if (AlarmIsDue()) {
      AMPC_ASSIGN_OR_RETURN(alarm, FindOverflow());
    }
    if (!options.loss.empty() && !options.keep_going && SkippedForGood()) return Ended(feeds);
  }
  Report(fetches, update, std::move(alarm));
  return fetches;
}

absl::Status Trainer::State::Enqueue(const TensorMap& feeds) {
  if (options.check_nan_inf) return UsageError("Enqueue does not check results; check_nan_inf needs Step");
  AMPC_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, OrderFeeds(main, feeds));
  const StepPart part = Part();
  watch.reset();
  AMPC_RETURN_IF_ERROR(runner->Enqueue(values, part));
  ++steps;
  micro = part.last ? 0 : micro + 1;
  updates += part.last ? 1 : 0;
  return absl::OkStatus();
}

CheckpointOptions Trainer::State::Checkpoints() const {
  CheckpointOptions out;
  out.transient = runner->transient();
  out.accumulate = options.accumulate;
  return out;
}

Trainer::Trainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

absl::StatusOr<Trainer> Trainer::Create(absl::StatusOr<TrainingProgram> program, const TrainerOptions& options) {
  AMPC_RETURN_IF_ERROR(program.status());
  if (options.accumulate < 1) return UsageError(absl::StrCat("accumulate is ", options.accumulate, ", needs at least 1"));
  if (options.alarm_after < 0) return UsageError(absl::StrCat("alarm_after is ", options.alarm_after, ", needs 0 (never) or more"));
  auto state = std::make_unique<State>();
  AMPC_ASSIGN_OR_RETURN(state->where, ChooseDevice({.device = DeviceOfProcess(options.device),
                                                    .threads = options.threads,
                                                    .tf32 = options.tf32,
                                                    .memory_limit_bytes = options.memory_limit_bytes}));
  if (state->where.target.has_value()) AMPC_RETURN_IF_ERROR(JoinDevices(*state->where.target));
  AMPC_RETURN_IF_ERROR(Verify(program->main));
  AMPC_RETURN_IF_ERROR(Annotate(Verify(program->startup), "startup program"));
  AMPC_RETURN_IF_ERROR(FillStateDims(*program));
  AMPC_RETURN_IF_ERROR(InitScope(*program, state->where.threads, state->scope));
  state->options = options;
  state->main = std::move(program->main);
  for (const std::unique_ptr<Var>& var : state->main.main().vars()) var->weight = nullptr;
  AMPC_ASSIGN_OR_RETURN(StepRunner runner, StepRunner::Create(state->main,
                                                              {.accumulate = options.accumulate,
                                                               .threads = state->where.threads,
                                                               .loss = options.loss,
                                                               .put_back = !options.keep_skipped_statistics,
                                                               .target = state->target()},
                                                              state->scope));
  state->runner.emplace(std::move(runner));
  for (const ScalerView& scaler : FindScalers(state->main)) {
    state->scales.push_back(scaler);
    ScalerReport report;
    report.name = scaler.scale->name();
    report.scale = Number(*scaler.scale, state->scope);
    state->scalers.push_back(std::move(report));
  }
  state->rates = FindLearningRates(state->main);
  for (const ScalerView& scaler : state->scales) state->shown.push_back(scaler.scale->name());
  for (const Var* var : state->rates) state->shown.push_back(var->name());
  return Trainer(std::move(state));
}

Scope& Trainer::scope() { return state_->scope; }
const Scope& Trainer::scope() const { return state_->scope; }

absl::StatusOr<TensorMap> Trainer::Step(const TensorMap& feeds) { return state_->Step(feeds); }

absl::Status Trainer::Enqueue(const TensorMap& feeds) { return state_->Enqueue(feeds); }

absl::Status Trainer::Wait() { return state_->scope.Wait(); }

absl::Status Trainer::SetTestProgram(Program program) {
  AMPC_RETURN_IF_ERROR(Verify(program));
  absl::Status writes;
  ForEachOp(program, [&writes](const Op& op) {
    for (const Var* var : op.outputs()) {
      if (!writes.ok() || !LivesInScope(*var)) continue;
      writes = UsageError(absl::StrCat("test program: ", Describe(op), " overwrites ", Name(var->kind), " '", var->name(),
                                       "', which only training may change"));
    }
  });
  AMPC_RETURN_IF_ERROR(writes);
  absl::StatusOr<std::unique_ptr<ProgramRunner>> test = ProgramRunner::Create(
      std::move(program), {.threads = state_->where.threads, .fuse = true, .scope = &state_->scope, .target = state_->target()});
  if (!test.ok()) return Annotate(test.status(), "test program");
  state_->test = *std::move(test);
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> Trainer::Test(const TensorMap& feeds) {
  if (state_->test == nullptr) return UsageError("there is no test program; SetTestProgram comes first");
  const Program& program = state_->test->program();
  AMPC_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, OrderFeeds(program, feeds));
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, state_->test->Run(values, nullptr));
  TensorMap out;
  for (size_t i = 0; i < results.size(); ++i) out[program.fetches[i]->exported()] = std::move(results[i]);
  return out;
}

int64_t Trainer::steps() const { return state_->steps; }
int64_t Trainer::updates() const { return state_->updates; }
const std::vector<ScalerReport>& Trainer::scalers() const { return state_->scalers; }

absl::Status Trainer::Save(const std::string& directory, const DataPosition& position, int keep) const {
  AMPC_RETURN_IF_ERROR(state_->scope.RefreshAll());
  TrainingProgress progress;
  progress.steps = state_->steps;
  progress.updates = state_->updates;
  progress.micro = state_->micro;
  progress.accumulate = state_->options.accumulate;
  for (const ScalerReport& s : state_->scalers) progress.scalers[s.name] = {s.skipped, s.skipped_in_a_row};
  progress.position = position;
  progress.program = Fingerprint(state_->main);
  CheckpointOptions options = state_->Checkpoints();
  options.keep = keep;
  return SaveCheckpoint(directory, state_->scope, progress, options);
}

absl::StatusOr<RestoredCheckpoint> Trainer::Restore(const std::string& directory) {
  AMPC_ASSIGN_OR_RETURN(LoadedCheckpoint loaded, LoadCheckpoint(directory, state_->scope, state_->Checkpoints()));
  const TrainingProgress& progress = loaded.progress;
  state_->steps = progress.steps;
  state_->updates = progress.updates;
  state_->micro = progress.micro;
  state_->watch.reset();
  for (size_t i = 0; i < state_->scalers.size(); ++i) {
    ScalerReport& s = state_->scalers[i];
    const auto it = progress.scalers.find(s.name);
    const TrainingProgress::Skips skips = it == progress.scalers.end() ? TrainingProgress::Skips() : it->second;
    s.skipped = skips.skipped;
    s.skipped_in_a_row = skips.in_a_row;
    s.found_inf = false;
    s.at_floor = false;
    s.scale = Number(*state_->scales[i].scale, state_->scope);
  }
  if (progress.program != Fingerprint(state_->main)) {
    loaded.notes.push_back(absl::StrCat("the program has changed since '", loaded.path, "' was saved; its variables are the same"));
  }
  return RestoredCheckpoint{std::move(loaded.path), progress.steps, progress.position, std::move(loaded.notes)};
}

const Program& Trainer::program() const { return state_->main; }
int64_t Trainer::arena_bytes() const { return state_->runner->arena_bytes(); }

}  // namespace ampc
