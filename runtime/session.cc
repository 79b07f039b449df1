#include "runtime/session.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "kernels/evaluator.h"
#include "kernels/weight_cache.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/exec/block_runner.h"
#include "runtime/exec/plan_cache.h"

namespace ampc {
namespace {

constexpr size_t kMaxPlans = 16;

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
  State(Program p, Constants c, int num_threads);

  absl::StatusOr<std::shared_ptr<const Executor>> ExecutorFor(absl::Span<const HostTensor* const> feeds);
  absl::StatusOr<std::vector<HostTensor>> RunPlans(absl::Span<const HostTensor* const> feeds, ObservedRun* observed);
  absl::StatusOr<TensorMap> Run(const TensorMap& feeds, StepObserver* observer);
  absl::Status UnknownFeed(const TensorMap& feeds) const;

  const Program program;
  const Constants constants;
  const Liveness liveness;
  WeightCache weights;
  const PlanContext context;
  PlanCache plans;     // of the whole program
  BlockRunner runner;  // for what one plan cannot hold
  std::atomic<bool> needs_runner;
};

Session::State::State(Program p, Constants c, int num_threads)
    : program(std::move(p)),
      constants(std::move(c)),
      liveness(program),
      context{program, constants, liveness, CpuKernels(), &weights, num_threads},
      plans(kMaxPlans),
      runner(context),
      needs_runner(BlockRunner::NeededBy(program, context.kernels)) {
  for (const std::unique_ptr<const HostTensor>& value : constants.all()) {
    if (value != nullptr) weights.AddLasting(value.get());
  }
}

absl::StatusOr<std::shared_ptr<const Executor>> Session::State::ExecutorFor(absl::Span<const HostTensor* const> feeds) {
  PlanCache::Key key;
  for (const HostTensor* feed : feeds) AppendDims(feed->dims(), &key);
  return plans.Get(key, [&] {
    const Block& main = program.main();
    Region region{&main, 0, static_cast<int>(main.ops().size()), {program.feeds.begin(), program.feeds.end()}, {}, false};
    region.fetches.assign(program.fetches.begin(), program.fetches.end());
    std::vector<KnownFeed> known;
    for (const HostTensor* feed : feeds) known.push_back({{feed->dims().begin(), feed->dims().end()}, nullptr});
    return BuildPlan(context, std::move(region), known);
  });
}

absl::StatusOr<std::vector<HostTensor>> Session::State::RunPlans(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) {
  if (!needs_runner.load(std::memory_order_relaxed)) {
    AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Executor> executor, ExecutorFor(feeds));
    if (executor->plan().specialized.stopped.ok()) return executor->Run(feeds, observed);
    needs_runner.store(true, std::memory_order_relaxed);
  }
  return runner.Run(feeds, observed);
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
  for (const Var* feed : program.feeds) {
    auto it = feeds.find(feed->exported());
    if (it == feeds.end()) {
      return UsageError(absl::StrCat("feed '", feed->exported(), "' is missing, the model needs ", absl::StrJoin(Names(program.feeds), ", ")));
    }
    AMPC_RETURN_IF_ERROR(CheckFeed(*feed, it->second));
    values.push_back(&it->second);
  }
  if (feeds.size() > values.size()) return UnknownFeed(feeds);  // every feed of the model was found
  std::optional<ObservedRun> observed;
  if (observer != nullptr) observed.emplace(*observer);
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, RunPlans(values, observed.has_value() ? &*observed : nullptr));
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
  AMPC_ASSIGN_OR_RETURN(Constants constants, Constants::Load(program));
  const int threads = options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return Session(std::make_unique<State>(std::move(program), std::move(constants), threads));
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

int Session::num_plans() const { return state_->plans.size() + state_->runner.num_plans(); }

int64_t Session::arena_bytes() const { return std::max(state_->plans.arena_bytes(), state_->runner.arena_bytes()); }

}  // namespace ampc
