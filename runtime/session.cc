#include "runtime/session.h"

#include <optional>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "runtime/exec/choose_device.h"
#include "runtime/exec/program_runner.h"

namespace ampc {

struct Session::State {
  explicit State(std::unique_ptr<ProgramRunner> r) : runner(std::move(r)) {}
  absl::StatusOr<TensorMap> Run(const TensorMap& feeds, StepObserver* observer);

  std::unique_ptr<ProgramRunner> runner;
};

absl::StatusOr<TensorMap> Session::State::Run(const TensorMap& feeds, StepObserver* observer) {
  const Program& program = runner->program();
  AMPC_ASSIGN_OR_RETURN(const std::vector<const HostTensor*> values, OrderFeeds(program, feeds));
  std::optional<ObservedRun> observed;
  if (observer != nullptr) observed.emplace(*observer);
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runner->Run(values, observed.has_value() ? &*observed : nullptr));
  TensorMap out;
  for (size_t i = 0; i < results.size(); ++i) out[program.fetches[i]->exported()] = std::move(results[i]);
  return out;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

absl::StatusOr<Session> Session::Load(const std::string& path, const SessionOptions& options) {
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(path, {.params = options.params}));
  absl::StatusOr<Session> session = Create(std::move(program), options);
  // What is wrong with a file is said with its name; options and feeds are not the file's.
  if (ExitCodeOf(session.status()) == ExitCode::kBadInput) return Annotate(session.status(), path);
  return session;
}

absl::StatusOr<Session> Session::Create(Program program, const SessionOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const DeviceChoice where, ChooseDevice({.device = options.device,
                                                                .threads = options.threads,
                                                                .tf32 = options.tf32,
                                                                .memory_limit_bytes = options.memory_limit_bytes}));
  AMPC_RETURN_IF_ERROR(Verify(program));
  RunnerOptions how{.threads = where.threads, .fuse = !options.strict_rounding};
  if (where.target.has_value()) how.target = &*where.target;
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<ProgramRunner> runner, ProgramRunner::Create(std::move(program), how));
  return Session(std::make_unique<State>(std::move(runner)));
}

absl::StatusOr<TensorMap> Session::Run(const TensorMap& feeds) const { return state_->Run(feeds, nullptr); }

absl::StatusOr<TensorMap> Session::Run(const TensorMap& feeds, StepObserver& observer) const { return state_->Run(feeds, &observer); }

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
