#include "runtime/exec/device_executor.h"

#include <deque>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/device/device_job.h"
#include "kernels/parallel.h"
#include "runtime/exec/values.h"

namespace ampc {
namespace {

// Runs before a plan's steps are captured: libraries set themselves up in the first ones.
constexpr int kRunsBeforeCapture = 2;

}  // namespace

DeviceExecutor::DeviceExecutor(std::unique_ptr<const ExecutionPlan> p) : Executor(std::move(p)) {
  for (size_t i = 0; i < plan().steps.size(); ++i) {
    const bool waits = plan().steps[i].kernel->synchronizes();
    if (waits || segments_.empty() || !segments_.back().can_capture) segments_.push_back({i, i, !waits});
    segments_.back().last = i + 1;
  }
}

absl::StatusOr<std::unique_ptr<DeviceArena>> DeviceExecutor::TakeArena() const {
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<DeviceArena> arena = std::move(free_.back());
      free_.pop_back();
      return arena;
    }
  }
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceArena> arena, DeviceArena::Create(plan()));
  arena->graphs.resize(segments_.size());
  return arena;
}

void DeviceExecutor::GiveBack(std::unique_ptr<DeviceArena> arena) const {
  const MutexLock lock(mutex_);
  free_.push_back(std::move(arena));
}

absl::Status DeviceExecutor::RunStep(size_t i, DeviceArena& arena) const {
  const Step& step = plan().steps[i];
  void* const* operands = arena.operands(step);
  return step.kernel->Run({absl::MakeConstSpan(operands, step.inputs), absl::MakeConstSpan(operands + step.inputs, step.outputs),
                           arena.workspace(i), plan().threads, &arena.stream()});
}

absl::Status DeviceExecutor::RunSteps(const Segment& segment, DeviceArena& arena) const {
  for (size_t i = segment.first; i < segment.last; ++i) AMPC_RETURN_IF_ERROR(RunStep(i, arena));
  return absl::OkStatus();
}

// A library may refuse to be captured; the arena then goes on without.
absl::Status DeviceExecutor::Capture(size_t segment, DeviceArena& arena) const {
  AMPC_RETURN_IF_ERROR(arena.stream().BeginCapture());
  const absl::Status ran = RunSteps(segments_[segment], arena);
  absl::StatusOr<std::unique_ptr<Graph>> graph = arena.stream().EndCapture();
  if (ran.ok() && graph.ok()) {
    arena.graphs[segment] = *std::move(graph);
  } else {
    arena.may_capture = false;
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::Execute(DeviceArena& arena) const {
  for (size_t k = 0; k < segments_.size(); ++k) {
    const Segment& segment = segments_[k];
    const bool worthwhile = segment.can_capture && segment.last - segment.first > 1;
    if (worthwhile && arena.graphs[k] == nullptr && arena.may_capture && arena.runs >= kRunsBeforeCapture) {
      AMPC_RETURN_IF_ERROR(Capture(k, arena));
    }
    AMPC_RETURN_IF_ERROR(arena.graphs[k] != nullptr ? arena.graphs[k]->Launch(arena.stream()) : RunSteps(segment, arena));
  }
  return absl::OkStatus();
}

// `values`: where the results lie, to be copied to the host; null when nobody wants them.
absl::Status DeviceExecutor::Report(size_t i, double start, double seconds, const DeviceArena* values, ObservedRun& observed) const {
  const Step& step = plan().steps[i];
  ObservedStep seen;
  seen.index = observed.next_index++;
  if (step.instance->op == nullptr) return absl::OkStatus();  // a copy or a conversion between layouts computes nothing
  seen.op = step.instance->op;
  seen.implementation = step.kernel->implementation();
  seen.device = step.bytes_through_host > 0 ? "host" : plan().target->device.device->name();
  seen.copied_bytes = step.bytes_through_host;
  seen.start_seconds = start;
  seen.seconds = seconds;
  std::vector<ObservedValue> results;
  std::deque<HostTensor> owned;
  for (int k = 0; k < step.outputs; ++k) {
    ObservedValue value{seen.op->outputs()[k], plan().specialized.descs[step.instance->outputs[k]], nullptr};
    if (values != nullptr) {
      AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(StorageType(value.desc.dtype), value.desc.dims));
      AMPC_RETURN_IF_ERROR(DownloadDeclared(values->operands(step)[step.inputs + k], value.desc.dtype, t, values->stream()));
      owned.push_back(std::move(t));
      value.data = owned.back().data();
      AMPC_RETURN_IF_ERROR(MakePlain(value, owned));
    }
    results.push_back(value);
  }
  seen.results = results;
  return observed.observer.AfterStep(seen);
}

// All steps with an event between them, then the reports.
absl::Status DeviceExecutor::ExecuteTimed(DeviceArena& arena, ObservedRun& observed) const {
  const size_t n = plan().steps.size();
  while (arena.marks.size() <= n) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Event> mark, arena.stream().device().NewEvent(true));
    arena.marks.push_back(std::move(mark));
  }
  const double start = observed.Seconds();
  AMPC_RETURN_IF_ERROR(arena.stream().Record(*arena.marks[0]));
  for (size_t i = 0; i < n; ++i) {
    const Op* op = plan().steps[i].instance->op;
    arena.stream().PushRange(op == nullptr ? "move" : op->type().c_str());
    AMPC_RETURN_IF_ERROR(RunStep(i, arena));
    arena.stream().PopRange();
    AMPC_RETURN_IF_ERROR(arena.stream().Record(*arena.marks[i + 1]));
  }
  AMPC_RETURN_IF_ERROR(arena.stream().Synchronize());
  for (size_t i = 0; i < n; ++i) {
    AMPC_ASSIGN_OR_RETURN(const double before, arena.marks[i]->MillisecondsSince(*arena.marks[0]));
    AMPC_ASSIGN_OR_RETURN(const double took, arena.marks[i + 1]->MillisecondsSince(*arena.marks[i]));
    AMPC_RETURN_IF_ERROR(Report(i, start + before / 1e3, took / 1e3, nullptr, observed));
  }
  return absl::OkStatus();
}

// Step by step, each with its results before the next one.
absl::Status DeviceExecutor::ExecuteWatched(DeviceArena& arena, ObservedRun& observed) const {
  for (size_t i = 0; i < plan().steps.size(); ++i) {
    const double start = observed.Seconds();
    AMPC_RETURN_IF_ERROR(RunStep(i, arena));
    AMPC_RETURN_IF_ERROR(arena.stream().Synchronize());
    const double seconds = observed.Seconds() - start;
    AMPC_RETURN_IF_ERROR(Report(i, start, seconds, observed.observer.wants_values() ? &arena : nullptr, observed));
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::RunOn(std::unique_ptr<DeviceArena>* arena, absl::Span<const HostTensor* const> feeds, ObservedRun* observed,
                                   bool wait) const {
  const ScopedThreads threads(plan().threads);
  const auto run = [&](DeviceArena& a) -> absl::Status {
    AMPC_RETURN_IF_ERROR(a.CopyFeeds(plan(), feeds));
    if (observed == nullptr) {
      AMPC_RETURN_IF_ERROR(Execute(a));
    } else {
      AMPC_RETURN_IF_ERROR(observed->observer.wants_values() ? ExecuteWatched(a, *observed) : ExecuteTimed(a, *observed));
    }
    ++a.runs;
    if (!wait) return absl::OkStatus();
    AMPC_RETURN_IF_ERROR(a.CopyFetches(plan()));
    AMPC_RETURN_IF_ERROR(a.stream().Synchronize());
    return CheckDeviceJob(a.stream().device());
  };
  const absl::Status status = run(**arena);
  if (!status.ok()) arena->reset();
  return status;
}

absl::Status DeviceExecutor::Fill(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceArena> arena, TakeArena());
  AMPC_RETURN_IF_ERROR(RunOn(&arena, feeds, observed, true));
  for (size_t i = 0; i < fetches.size(); ++i) {
    const Address& address = plan().fetches[i];
    if (address.kind == Address::kConstant) {
      Narrow(address.constant, plan().threads, fetches[i]);
    } else {
      FromDeclared(arena->FetchData(i), fetches[i].dtype(), fetches[i]);
    }
  }
  GiveBack(std::move(arena));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SharedTensor>> DeviceExecutor::RunInner(absl::Span<const SharedTensor> feeds, ObservedRun* observed) const {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceArena> arena, TakeArena());
  std::vector<const HostTensor*> given;
  for (const SharedTensor& feed : feeds) given.push_back(feed.get());
  AMPC_RETURN_IF_ERROR(RunOn(&arena, given, observed, true));
  const Specialized& s = plan().specialized;
  std::vector<SharedTensor> fetches;
  for (size_t i = 0; i < plan().fetches.size(); ++i) {
    if (const HostTensor* value = s.values[s.fetches[i]]; value != nullptr) {
      fetches.push_back(SharedTensor(shared_from_this(), value));
      continue;
    }
    const TensorDesc& desc = s.descs[s.fetches[i]];
    AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(StorageType(desc.dtype), desc.dims));
    const Address& address = plan().fetches[i];
    if (address.kind == Address::kConstant) {
      FromDeclared(address.constant, t.dtype(), t);
    } else {
      FromDeclared(arena->FetchData(i), desc.dtype, t);
    }
    fetches.push_back(std::make_shared<const HostTensor>(std::move(t)));
  }
  GiveBack(std::move(arena));
  return fetches;
}

absl::Status DeviceExecutor::Enqueue(absl::Span<const HostTensor* const> feeds) const {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceArena> arena, TakeArena());
  AMPC_RETURN_IF_ERROR(RunOn(&arena, feeds, nullptr, false));
  GiveBack(std::move(arena));
  return absl::OkStatus();
}

}  // namespace ampc
