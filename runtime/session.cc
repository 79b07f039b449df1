#include "runtime/session.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "kernels/kernel_choices.h"
#include "kernels/lib/cpu_numbers.h"
#include "runtime/exec/choose_device.h"
#include "runtime/exec/feed_checks.h"
#include "runtime/exec/model_runner.h"

namespace ampc {
namespace {

DeviceOptions DeviceOptionsOf(const SessionOptions& options) {
  return {.device = options.device, .threads = options.threads, .tf32 = options.tf32, .memory_limit_bytes = options.memory_limit_bytes};
}

}  // namespace

struct Session::State {
  static absl::StatusOr<Session> Create(DeviceChoice where, Program program, const SessionOptions& options);
  absl::StatusOr<TensorMap> Run(const TensorMap& feeds, StepObserver* observer);
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor* const> feeds, StepObserver* observer);

  DeviceChoice where;
  // Choices that plans measured are in the file before a result leaves.
  absl::Status SaveChoices() const { return choices == nullptr ? absl::OkStatus() : choices->Save(); }

  std::unique_ptr<KernelChoices> choices;  // null: none; the runner's plans ask them
  std::unique_ptr<ModelRunner> runner;
};

absl::StatusOr<TensorMap> Session::State::Run(const TensorMap& feeds, StepObserver* observer) {
  const Program& program = runner->program();
  AMPC_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, OrderFeeds(program, feeds));
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, Run(values, observer));
  TensorMap out;
  for (size_t i = 0; i < results.size(); ++i) out[program.fetches[i]->exported()] = std::move(results[i]);
  return out;
}

absl::StatusOr<std::vector<HostTensor>> Session::State::Run(absl::Span<const HostTensor* const> feeds, StepObserver* observer) {
  std::optional<ObservedRun> observed;
  if (observer != nullptr) observed.emplace(*observer);
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runner->Run(feeds, observed.has_value() ? &*observed : nullptr));
  AMPC_RETURN_IF_ERROR(SaveChoices());
  return results;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

absl::StatusOr<Session> Session::Load(const std::string& path, const SessionOptions& options) {
  AMPC_ASSIGN_OR_RETURN(DeviceChoice where, ChooseDevice(DeviceOptionsOf(options)));  // before a large file is read
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(path, {.params = options.params}));
  absl::StatusOr<Session> session = State::Create(std::move(where), std::move(program), options);
  // An error of a file names the file; options and feeds are not the file's.
  if (ExitCodeOf(session.status()) == ExitCode::kBadInput) return Annotate(session.status(), path);
  return session;
}

absl::StatusOr<Session> Session::Create(Program program, const SessionOptions& options) {
  AMPC_ASSIGN_OR_RETURN(DeviceChoice where, ChooseDevice(DeviceOptionsOf(options)));
  return State::Create(std::move(where), std::move(program), options);
}

absl::StatusOr<Session> Session::State::Create(DeviceChoice where, Program program, const SessionOptions& options) {
  auto state = std::make_unique<State>();
  state->where = std::move(where);
  AMPC_RETURN_IF_ERROR(Verify(program));
  RunnerOptions how{.threads = state->where.threads,
                    .fuse = !options.strict_rounding,
                    .excess_precision = options.excess_precision && !options.strict_rounding,
                    .in_place = options.in_place};
  if (state->where.target.has_value()) how.target = &*state->where.target;
  if (!options.tune_plans.empty()) {
    if (how.target != nullptr) return UsageError(absl::StrCat("tune_plans: found device '", options.device, "', needed cpu"));
    AMPC_ASSIGN_OR_RETURN(state->choices, KernelChoices::Open(options.tune_plans, onednn::CpuText()));
    how.choices = state->choices.get();
  }
  AMPC_ASSIGN_OR_RETURN(state->runner, ModelRunner::Create(std::move(program), how, ModelRunner::Left::kDeferred));
  return Session(std::move(state));
}

absl::StatusOr<TensorMap> Session::Run(const TensorMap& feeds) const { return state_->Run(feeds, nullptr); }

absl::StatusOr<std::vector<HostTensor>> Session::RunOrdered(absl::Span<const HostTensor* const> feeds) const {
  AMPC_RETURN_IF_ERROR(CheckFeeds(state_->runner->program(), feeds));
  return state_->Run(feeds, nullptr);
}

absl::Status Session::RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches) const {
  AMPC_RETURN_IF_ERROR(CheckFeeds(program(), feeds));
  if (fetches.size() != program().fetches.size())
    return UsageError(absl::StrCat("found ", fetches.size(), " outputs, the model has ", program().fetches.size()));
  AMPC_RETURN_IF_ERROR(state_->runner->RunInto(feeds, fetches));
  return state_->SaveChoices();
}

absl::StatusOr<TensorMap> Session::Run(const TensorMap& feeds, StepObserver& observer) const { return state_->Run(feeds, &observer); }

absl::StatusOr<std::string> Session::PlanText(const TensorMap& feeds) const {
  AMPC_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, OrderFeeds(program(), feeds));
  AMPC_ASSIGN_OR_RETURN(std::string text, state_->runner->PlanText(values));
  AMPC_RETURN_IF_ERROR(state_->SaveChoices());
  return text;
}

std::vector<ValueInfo> Session::inputs() const {
  std::vector<ValueInfo> out;
  for (const Var* v : program().feeds) out.push_back({v->exported(), v->type});
  return out;
}

std::vector<ValueInfo> Session::outputs() const {
  std::vector<ValueInfo> out;
  for (const Var* v : program().fetches) out.push_back({v->exported(), v->type});
  return out;
}

const Program& Session::program() const { return state_->runner->program(); }

int Session::num_plans() const { return state_->runner->num_plans(); }

int64_t Session::arena_bytes() const { return state_->runner->arena_bytes(); }

}  // namespace ampc
