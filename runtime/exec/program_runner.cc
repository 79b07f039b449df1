#include "runtime/exec/program_runner.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "kernels/device/device_job.h"
#include "kernels/evaluator.h"
#include "kernels/lib/int8.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"

namespace ampc {
namespace {

constexpr size_t kMaxPlans = 16;

// Runs on the program once: what the plan needs is written into it, what a run does not need is dropped.
absl::Status Prepare(Program& program, const RunnerOptions& options) {
  for (const Var* feed : program.feeds) {
    if (feed->type.lod_level > 0) {
      return UnsupportedError(absl::StrCat("feed '", feed->name(), "' carries level-of-detail information (lod_level ",
                                           feed->type.lod_level, "), which cannot be executed"));
    }
  }
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport("cpu"));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  const bool on_device = options.target != nullptr;
  const auto has = [&options](const char* op) { return options.target->kernels->Find(op) != nullptr; };
  const bool elementwise = options.fuse && on_device && has("fused_elementwise");
  const bool linear = options.fuse_linear && on_device && has("fused_gemm_epilogue") && has("fused_gemm_epilogue_grad");
  const bool in_job = on_device && ProcessDeviceJob(*options.target->device) != nullptr;
  const PlanOptions plan = {.fuse = options.fuse,
                            .linear = linear,
                            .elementwise = elementwise,
                            .quantized = on_device                                ? "none"
                                         : options.fuse && onednn::HasExactInt8() ? "products"
                                                                                  : "scales",
                            .group_updates = on_device,
                            .bucket_gradients = in_job};
  return RunPipeline(PlanPipeline(plan), {}, ctx, program);
}

// The narrower of two float types in one storage cannot hold the other's values.
bool Holds(DType declared, DType scope) { return declared == scope || (declared == DType::kF32 && IsLowPrecision(scope)); }

absl::StatusOr<Scope::Variable*> FindState(const Var& var, Scope& scope) {
  Scope::Variable* found = scope.FindVariable(var.name());
  if (found == nullptr) return UsageError(absl::StrCat(Name(var.kind), " '", var.name(), "' is not in the scope"));
  const TensorType have(found->dtype, Dims(found->value.dims().begin(), found->value.dims().end()));
  if (!Holds(var.type.dtype, found->dtype) || !Compatible(have.WithDType(var.type.dtype), var.type)) {
    return UsageError(
        absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(have), " in the scope, the program needs ", ToString(var.type)));
  }
  return found;
}

// Without their weights, nothing that a pass or a plan does can depend on first values.
absl::Status DropWeights(Program& program, Scope& scope) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (!LivesInScope(*var)) continue;
      if (scope.FindVariable(var->name()) == nullptr)
        return UsageError(absl::StrCat(Name(var->kind), " '", var->name(), "' is not in the scope"));
      var->weight = nullptr;
    }
  }
  return absl::OkStatus();
}

std::set<const Var*> Written(const Program& program) {
  std::set<const Var*> written;
  ForEachOp(program, [&written](const Op& op) { written.insert(op.outputs().begin(), op.outputs().end()); });
  return written;
}

absl::Status CheckFeed(const Var& feed, const HostTensor& value) {
  const auto wrong = [&](absl::string_view what) {
    return UsageError(absl::StrCat("feed '", feed.name(), "' ", what, ", the model needs ", ToString(feed.type)));
  };
  if (value.dtype() != feed.type.dtype) return wrong(absl::StrCat("is ", Name(value.dtype())));
  const TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  if (!Compatible(type, feed.type)) return wrong(absl::StrCat("has dims ", ShapeToString(value.dims())));
  return absl::OkStatus();
}

// Tensors go in and come out.
absl::Status CheckKinds(const Program& program) {
  for (const Var* fetch : program.fetches) {
    if (fetch->type.kind != TypeKind::kTensorArray) continue;
    return UnsupportedError(
        absl::StrCat("fetch '", fetch->exported(), "' is ", ToString(fetch->type), ", models are executed with tensors as fetches"));
  }
  for (const Var* feed : program.feeds) {
    if (feed->type.kind == TypeKind::kTensor) continue;
    return UnsupportedError(
        absl::StrCat("feed '", feed->exported(), "' is ", ToString(feed->type), ", models are executed with tensors as feeds"));
  }
  return absl::OkStatus();
}

// For a sentence: "a, b, c", and how many more there are.
std::string Names(const std::vector<Var*>& vars) {
  constexpr size_t kMost = 20;
  std::string names;
  for (size_t i = 0; i < std::min(vars.size(), kMost); ++i) absl::StrAppend(&names, i == 0 ? "" : ", ", vars[i]->exported());
  return vars.size() <= kMost ? names : absl::StrCat(names, " and ", vars.size() - kMost, " more");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProgramRunner>> ProgramRunner::Create(Program program, const RunnerOptions& options) {
  if (options.scope != nullptr) AMPC_RETURN_IF_ERROR(DropWeights(program, *options.scope));
  AMPC_RETURN_IF_ERROR(Prepare(program, options));
  States states;
  if (options.scope != nullptr) {
    AMPC_ASSIGN_OR_RETURN(states, BindStates(program, *options.scope, options.target));
  }
  AMPC_ASSIGN_OR_RETURN(Constants constants, Constants::Load(program, states.table.get()));
  return std::unique_ptr<ProgramRunner>(new ProgramRunner(std::move(program), std::move(states), std::move(constants), options));
}

absl::StatusOr<ProgramRunner::States> ProgramRunner::BindStates(const Program& program, Scope& scope, const DeviceTarget* target) {
  States states;
  auto table = std::make_unique<StateTable>(program);
  if (target != nullptr) {
    AMPC_ASSIGN_OR_RETURN(ScopeMirror * mirror, scope.Mirror(target->device));
    states.mirrored.emplace(*mirror);
  }
  const std::set<const Var*> written = Written(program);
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (!LivesInScope(*var)) continue;
      AMPC_ASSIGN_OR_RETURN(Scope::Variable * variable, FindState(*var, scope));
      if (!states.mirrored.has_value()) {
        table->Set(*var, &variable->value);
        continue;
      }
      AMPC_ASSIGN_OR_RETURN(ScopeMirror::Copy * copy, states.mirrored->mirror().Bind(var->name(), *variable, var->type.dtype));
      table->Set(*var, &variable->value, copy->memory.data());
      states.mirrored->Add(copy, written.contains(var.get()));
    }
  }
  states.table = std::move(table);
  return states;
}

ProgramRunner::ProgramRunner(Program program, States states, Constants constants, const RunnerOptions& options)
    : program_(std::move(program)),
      states_(std::move(states)),
      threads_(options.threads),
      constants_(std::move(constants)),
      liveness_(program_, states_.table.get()),
      context_(Context(options)),
      plans_(kMaxPlans),
      runner_(context_),
      needs_runner_(BlockRunner::NeededBy(program_, context_.kernels)) {
  for (const std::shared_ptr<const HostTensor>& value : constants_.all()) {
    if (value == nullptr) continue;
    weights_.AddLasting(value.get());
    if (device_constants_.has_value()) device_constants_->AddLasting(value.get());
  }
}

PlanContext ProgramRunner::Context(const RunnerOptions& options) {
  PlanContext context{program_,         constants_,  liveness_,           CpuKernels(),
                      &weights_,        threads_,    states_.table.get(), options.excess_precision,
                      options.in_place, options.fuse};
  if (options.target == nullptr) return context;
  device_constants_.emplace(options.target->device);
  target_ = PlanTarget{*options.target, &*device_constants_, nullptr};
  if (states_.mirrored.has_value()) target_->stream = &states_.mirrored->mirror().stream();
  context.target = &*target_;
  return context;
}

absl::StatusOr<std::shared_ptr<const Executor>> ProgramRunner::ExecutorFor(absl::Span<const HostTensor* const> feeds) {
  PlanCache::Key key;
  for (const HostTensor* feed : feeds) AppendDims(feed->dims(), &key);
  return plans_.Get(key, [&] {
    const Block& main = program_.main();
    Region region{&main, 0, static_cast<int>(main.ops().size()), {program_.feeds.begin(), program_.feeds.end()}, {}, false};
    region.fetches.assign(program_.fetches.begin(), program_.fetches.end());
    std::vector<KnownFeed> known;
    for (const HostTensor* feed : feeds) known.push_back({{feed->dims().begin(), feed->dims().end()}, nullptr});
    return BuildPlan(context_, std::move(region), known);
  });
}

absl::StatusOr<std::shared_ptr<const Executor>> ProgramRunner::WholePlan(absl::Span<const HostTensor* const> feeds) {
  if (needs_runner_.load(std::memory_order_relaxed)) return nullptr;
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Executor> executor, ExecutorFor(feeds));
  if (executor->plan().specialized.stopped.ok()) return executor;
  needs_runner_.store(true, std::memory_order_relaxed);
  return nullptr;
}

// Its states are on the host.
absl::StatusOr<std::vector<HostTensor>> ProgramRunner::RunBlocks(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) {
  if (!states_.mirrored.has_value()) return runner_.Run(feeds, observed);
  AMPC_RETURN_IF_ERROR(states_.mirrored->BeforeHostRun());
  absl::StatusOr<std::vector<HostTensor>> results = runner_.Run(feeds, observed);
  states_.mirrored->AfterHostRun();
  return results;
}

absl::StatusOr<std::vector<HostTensor>> ProgramRunner::Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor == nullptr) return RunBlocks(feeds, observed);
  if (!states_.mirrored.has_value()) return executor->Run(feeds, observed);
  AMPC_RETURN_IF_ERROR(states_.mirrored->BeforeRun());
  absl::StatusOr<std::vector<HostTensor>> results = executor->Run(feeds, observed);
  states_.mirrored->AfterRun();
  return results;
}

absl::StatusOr<std::string> ProgramRunner::PlanText(absl::Span<const HostTensor* const> feeds) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor == nullptr) return UnsupportedError("one plan cannot hold this program: it has control flow, or shapes that depend on data");
  return ToString(executor->plan());
}

absl::Status ProgramRunner::Enqueue(absl::Span<const HostTensor* const> feeds) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor == nullptr) return RunBlocks(feeds, nullptr).status();
  if (!states_.mirrored.has_value()) return executor->Enqueue(feeds);
  AMPC_RETURN_IF_ERROR(states_.mirrored->BeforeRun());
  const absl::Status status = executor->Enqueue(feeds);
  states_.mirrored->AfterRun();
  return status;
}

int64_t ProgramRunner::arena_bytes() const { return std::max(plans_.arena_bytes(), runner_.arena_bytes()); }

bool LivesInScope(const Var& var) {
  return (var.kind == VarKind::kParam || var.kind == VarKind::kState) && var.type.kind == TypeKind::kTensor;
}

absl::StatusOr<std::vector<const HostTensor*>> OrderFeeds(const Program& program, const TensorMap& feeds) {
  std::vector<const HostTensor*> values;
  AMPC_RETURN_IF_ERROR(CheckKinds(program));
  for (const Var* feed : program.feeds) {
    auto it = feeds.find(feed->exported());
    if (it == feeds.end()) {
      return UsageError(absl::StrCat("feed '", feed->exported(), "' is missing, the model needs ", Names(program.feeds)));
    }
    AMPC_RETURN_IF_ERROR(CheckFeed(*feed, it->second));
    values.push_back(&it->second);
  }
  if (feeds.size() == values.size()) return values;
  std::set<absl::string_view> known;
  for (const Var* feed : program.feeds) known.insert(feed->exported());
  const auto it = std::find_if(feeds.begin(), feeds.end(), [&known](const auto& feed) { return !known.contains(feed.first); });
  return UsageError(absl::StrCat("the model has no feed '", it->first, "'; it has ", Names(program.feeds)));
}

absl::Status CheckFeeds(const Program& program, absl::Span<const HostTensor* const> feeds) {
  AMPC_RETURN_IF_ERROR(CheckKinds(program));
  if (feeds.size() != program.feeds.size()) {
    return UsageError(
        absl::StrCat("found ", feeds.size(), feeds.size() == 1 ? " feed" : " feeds", ", the model needs ", Names(program.feeds)));
  }
  for (size_t i = 0; i < feeds.size(); ++i) AMPC_RETURN_IF_ERROR(CheckFeed(*program.feeds[i], *feeds[i]));
  return absl::OkStatus();
}

}  // namespace ampc
