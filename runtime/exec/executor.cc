#include "runtime/exec/executor.h"

#include <chrono>
#include <cstring>
#include <deque>

#include "graph/base/convert.h"
#include "graph/base/status_macros.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/round.h"

namespace ampc {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Storage to declared type.
void Narrow(const void* from, DType to, int64_t n, HostTensor& out) {
  if (n == 0) return;
  switch (to) {
    case DType::kF16: F32ToF16(static_cast<const float*>(from), out.mutable_values<Half>().data(), n); break;
    case DType::kBF16: F32ToBF16(static_cast<const float*>(from), out.mutable_values<BFloat16>().data(), n); break;
    default: std::memcpy(out.mutable_data(), from, out.size_bytes());
  }
}

void Widen(const HostTensor& from, float* to) {
  const size_t n = static_cast<size_t>(from.num_elements());
  if (from.dtype() == DType::kF16) {
    F16ToF32(from.values<Half>().data(), to, n);
  } else {
    BF16ToF32(from.values<BFloat16>().data(), to, n);
  }
}

// Observers see row-major values.
absl::Status MakePlain(ObservedValue& value, std::deque<HostTensor>& owned) {
  if (value.desc.layout == Layout::kPlain) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(DType::kF32, value.desc.dims));
  ConvertLayout(1, value.desc.dims, value.desc.layout, Layout::kPlain, static_cast<const float*>(value.data), t.mutable_values<float>().data());
  owned.push_back(std::move(t));
  value.desc.layout = Layout::kPlain;
  value.data = owned.back().data();
  return absl::OkStatus();
}

// `operands`: the step's inputs, then its results.
absl::Status RunStep(const Step& step, void* const* operands, void* workspace, int threads) {
  void* const* out = operands + step.inputs;
  AMPC_RETURN_IF_ERROR(step.kernel->Run({absl::MakeConstSpan(operands, step.inputs), absl::MakeConstSpan(out, step.outputs), workspace, threads}));
  for (const Rounding& r : step.roundings) RoundTo(r.to, static_cast<float*>(out[r.result]), r.elements, threads);
  return absl::OkStatus();
}

}  // namespace

struct Executor::Arena {
  HostTensor memory;
  std::vector<void*> operands;    // as plan.operands, resolved
  std::vector<void*> workspaces;  // by step
  char* at(int64_t offset) { return static_cast<char*>(memory.mutable_data()) + offset; }
};

Executor::Executor(std::unique_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {
  for (size_t i = 0; i < plan_->operands.size(); ++i) {
    if (plan_->operands[i].kind == Place::kFeed) feed_operands_.emplace_back(static_cast<int>(i), plan_->operands[i].feed);
  }
}

Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor::Arena>> Executor::TakeArena() const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Arena> arena = std::move(free_.back());
      free_.pop_back();
      return arena;
    }
  }
  auto arena = std::make_unique<Arena>();
  AMPC_ASSIGN_OR_RETURN(arena->memory, HostTensor::CreateUninitialized(DType::kU8, {plan_->arena_bytes}));
  for (const Place& place : plan_->operands) {
    void* p = nullptr;
    if (place.kind == Place::kArena) p = arena->at(place.offset);
    if (place.kind == Place::kConstant) p = const_cast<void*>(place.constant);
    arena->operands.push_back(p);
  }
  for (const Step& step : plan_->steps) {
    arena->workspaces.push_back(step.workspace.kind == Place::kArena ? arena->at(step.workspace.offset) : nullptr);
  }
  return arena;
}

void Executor::GiveBack(std::unique_ptr<Arena> arena) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(arena));
}

absl::Status Executor::Execute(Arena& arena) const {
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    AMPC_RETURN_IF_ERROR(RunStep(step, arena.operands.data() + step.first, arena.workspaces[i], plan_->threads));
  }
  return absl::OkStatus();
}

absl::Status Executor::ExecuteObserved(Arena& arena, StepObserver& observer) const {
  const Clock::time_point start = Clock::now();
  const Specialized& s = plan_->specialized;
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    void* const* operands = arena.operands.data() + step.first;
    void* const* out = operands + step.inputs;
    ObservedStep seen;
    seen.index = static_cast<int>(i);
    seen.implementation = step.kernel->implementation();
    seen.start_seconds = SecondsSince(start);
    AMPC_RETURN_IF_ERROR(RunStep(step, operands, arena.workspaces[i], plan_->threads));
    seen.seconds = SecondsSince(start) - seen.start_seconds;
    if (step.instance->op == nullptr) continue;  // a conversion between layouts computes nothing
    seen.op = step.instance->op;
    std::vector<ObservedValue> results;
    std::deque<HostTensor> plain;
    for (int k = 0; k < step.outputs; ++k) {
      ObservedValue value{seen.op->outputs()[k], s.descs[step.instance->outputs[k]], out[k]};
      if (observer.wants_values()) AMPC_RETURN_IF_ERROR(MakePlain(value, plain));
      results.push_back(value);
    }
    seen.results = results;
    AMPC_RETURN_IF_ERROR(observer.AfterStep(seen));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> Executor::CopyFetches(const Arena& arena, absl::Span<const HostTensor* const> feeds) const {
  std::vector<HostTensor> out;
  for (size_t i = 0; i < plan_->fetches.size(); ++i) {
    const TensorDesc& desc = plan_->specialized.descs[plan_->specialized.fetches[i]];
    AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(desc.dtype, desc.dims));
    const Place& place = plan_->fetches[i];
    switch (place.kind) {
      case Place::kArena: Narrow(static_cast<const char*>(arena.memory.data()) + place.offset, desc.dtype, desc.NumElements(), t); break;
      case Place::kConstant: Narrow(place.constant, desc.dtype, desc.NumElements(), t); break;
      case Place::kFeed: std::memcpy(t.mutable_data(), feeds[place.feed]->data(), t.size_bytes()); break;
      case Place::kNone: break;
    }
    out.push_back(std::move(t));
  }
  return out;
}

absl::StatusOr<std::vector<HostTensor>> Executor::Run(absl::Span<const HostTensor* const> feeds, StepObserver* observer) const {
  const ScopedThreads threads(plan_->threads);
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, TakeArena());
  for (const auto& [operand, feed] : feed_operands_) arena->operands[operand] = const_cast<void*>(feeds[feed]->data());
  for (const FeedCopy& copy : plan_->feed_copies) Widen(*feeds[copy.feed], reinterpret_cast<float*>(arena->at(copy.to.offset)));
  const absl::Status status = observer == nullptr ? Execute(*arena) : ExecuteObserved(*arena, *observer);
  absl::StatusOr<std::vector<HostTensor>> fetches = status.ok() ? CopyFetches(*arena, feeds) : status;
  GiveBack(std::move(arena));
  return fetches;
}

}  // namespace ampc
