#include "runtime/session.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/exec/executor.h"

namespace ampc {
namespace {

constexpr size_t kMaxPlans = 16;

using FeedDims = std::vector<std::vector<int64_t>>;

absl::Status CheckFeed(const Var& feed, const HostTensor& value) {
  const auto wrong = [&](absl::string_view what) {
    return UsageError(absl::StrCat("feed '", feed.name(), "' ", what, ", the model needs ", ToString(feed.type)));
  };
  if (value.dtype() != feed.type.dtype) return wrong(absl::StrCat("is ", Name(value.dtype())));
  const TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  if (!Compatible(type, feed.type)) return wrong(absl::StrCat("has dims ", ShapeToString(value.dims())));
  return absl::OkStatus();
}

std::vector<std::string> Names(const std::vector<Var*>& vars) {
  std::vector<std::string> names;
  for (const Var* v : vars) names.push_back(v->exported());
  return names;
}

// Runs on the loaded program once: what the plan needs is written into it, what a run does not need is dropped.
absl::Status Prepare(Program& program, const SessionOptions& options) {
  for (const Var* feed : program.feeds) {
    if (feed->type.lod_level > 0) {
      return UnsupportedError(absl::StrCat("feed '", feed->name(), "' carries level-of-detail information (lod_level ", feed->type.lod_level,
                                           "), which cannot be executed"));
    }
  }
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport("cpu"));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  return RunPipeline(PlanPipeline({.fuse = !options.strict_rounding}), {}, ctx, program);
}

}  // namespace

struct Session::State {
  explicit State(Program p) : program(std::move(p)) {}

  struct Planned {
    FeedDims dims;
    std::shared_ptr<const Executor> executor;
  };

  absl::StatusOr<std::shared_ptr<const Executor>> ExecutorFor(const FeedDims& dims);
  absl::StatusOr<TensorMap> Run(const TensorMap& feeds, StepObserver* observer);
  absl::Status UnknownFeed(const TensorMap& feeds) const;

  const Program program;
  Constants constants;
  int threads = 1;
  mutable std::mutex mutex;
  std::list<Planned> plans;  // newest use first
  int64_t arena_bytes = 0;
};

absl::StatusOr<std::shared_ptr<const Executor>> Session::State::ExecutorFor(const FeedDims& dims) {
  const std::lock_guard<std::mutex> lock(mutex);  // one thread plans, others with the same dims wait for its plan
  for (auto it = plans.begin(); it != plans.end(); ++it) {
    if (it->dims != dims) continue;
    plans.splice(plans.begin(), plans, it);
    return it->executor;
  }
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<const ExecutionPlan> plan, BuildPlan(program, constants, CpuKernels(), dims, threads));
  arena_bytes = plan->arena_bytes;
  plans.push_front({dims, std::make_shared<Executor>(std::move(plan))});
  if (plans.size() > kMaxPlans) plans.pop_back();
  return plans.front().executor;
}

// Names the first entry of `feeds` that the model does not have.
absl::Status Session::State::UnknownFeed(const TensorMap& feeds) const {
  const std::vector<std::string> known = Names(program.feeds);
  const auto unknown = [&known](const auto& feed) { return std::find(known.begin(), known.end(), feed.first) == known.end(); };
  const auto it = std::find_if(feeds.begin(), feeds.end(), unknown);
  return UsageError(absl::StrCat("the model has no feed '", it->first, "'; it has ", absl::StrJoin(known, ", ")));
}

absl::StatusOr<TensorMap> Session::State::Run(const TensorMap& feeds, StepObserver* observer) {
  std::vector<const HostTensor*> values;
  FeedDims dims;
  for (const Var* feed : program.feeds) {
    auto it = feeds.find(feed->exported());
    if (it == feeds.end()) {
      return UsageError(absl::StrCat("feed '", feed->exported(), "' is missing, the model needs ", absl::StrJoin(Names(program.feeds), ", ")));
    }
    AMPC_RETURN_IF_ERROR(CheckFeed(*feed, it->second));
    values.push_back(&it->second);
    dims.emplace_back(it->second.dims().begin(), it->second.dims().end());
  }
  if (feeds.size() > values.size()) return UnknownFeed(feeds);  // every feed of the model was found
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Executor> executor, ExecutorFor(dims));
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, executor->Run(values, observer));
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
  if (options.device != "cpu") {
    return UnsupportedError(absl::StrCat("device '", options.device, "' is not supported by this build; supported: cpu"));
  }
  if (options.threads < 0) return UsageError(absl::StrCat("threads is ", options.threads, ", 0 (all processors) or more is needed"));
  AMPC_RETURN_IF_ERROR(Verify(program));
  AMPC_RETURN_IF_ERROR(Prepare(program, options));
  auto state = std::make_unique<State>(std::move(program));
  AMPC_ASSIGN_OR_RETURN(state->constants, Constants::Load(state->program));
  state->threads = options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return Session(std::move(state));
}

absl::StatusOr<TensorMap> Session::Run(const TensorMap& feeds) const { return state_->Run(feeds, nullptr); }

absl::StatusOr<TensorMap> Session::Run(const TensorMap& feeds, StepObserver& observer) const { return state_->Run(feeds, &observer); }

std::vector<ValueInfo> Session::inputs() const {
  std::vector<ValueInfo> out;
  for (const Var* v : state_->program.feeds) out.push_back({v->exported(), v->type});
  return out;
}

std::vector<ValueInfo> Session::outputs() const {
  std::vector<ValueInfo> out;
  for (const Var* v : state_->program.fetches) out.push_back({v->exported(), v->type});
  return out;
}

const Program& Session::program() const { return state_->program; }

int Session::num_plans() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return static_cast<int>(state_->plans.size());
}

int64_t Session::arena_bytes() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->arena_bytes;
}

}  // namespace ampc
