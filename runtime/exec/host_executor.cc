#include "runtime/exec/host_executor.h"

#include <cstring>
#include <deque>

#include "graph/base/status_macros.h"
#include "kernels/lasting_tensor.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/storage.h"
#include "runtime/exec/poisoned_arena.h"
#include "runtime/exec/values.h"

namespace ampc {
namespace {

// `operands`: the step's inputs, then its results.
absl::Status RunStep(const Step& step, void* const* operands, void* workspace, int threads) {
  void* const* out = operands + step.inputs;
  AMPC_RETURN_IF_ERROR(
      step.kernel->Run({absl::MakeConstSpan(operands, step.inputs), absl::MakeConstSpan(out, step.outputs), workspace, threads}));
  for (const Rounding& r : step.roundings) RoundTo(r.to, static_cast<float*>(out[r.result]), r.elements, threads);
  return absl::OkStatus();
}

}  // namespace

struct HostExecutor::Arena {
  std::shared_ptr<HostTensor> memory;
  std::vector<void*> operands;    // as plan.operands, resolved
  std::vector<void*> workspaces;  // by step
  char* at(int64_t offset) { return static_cast<char*>(memory->mutable_data()) + offset; }
};

HostExecutor::HostExecutor(std::unique_ptr<const ExecutionPlan> p) : Executor(std::move(p)) {
  for (size_t i = 0; i < plan().operands.size(); ++i) {
    const Address& address = plan().operands[i];
    if (address.kind == Address::kFeed) feed_operands_.emplace_back(static_cast<int>(i), address.feed);
    if (address.kind == Address::kFetch) fetch_operands_.emplace_back(static_cast<int>(i), address.fetch);
  }
}

HostExecutor::~HostExecutor() = default;

absl::StatusOr<std::unique_ptr<HostExecutor::Arena>> HostExecutor::TakeArena() const {
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Arena> arena = std::move(free_.back());
      free_.pop_back();
      return arena;
    }
  }
  auto arena = std::make_unique<Arena>();
  AMPC_ASSIGN_OR_RETURN(arena->memory, CreateLasting(DType::kU8, {plan().arena_bytes}));
  for (const Address& address : plan().operands) {
    void* p = nullptr;
    if (address.kind == Address::kArena) p = arena->at(address.offset);
    if (address.kind == Address::kConstant) p = const_cast<void*>(address.constant);
    if (address.kind == Address::kState) p = address.state;
    arena->operands.push_back(p);
  }
  for (const Step& step : plan().steps) {
    arena->workspaces.push_back(step.workspace.kind == Address::kArena ? arena->at(step.workspace.offset) : nullptr);
  }
  return arena;
}

void HostExecutor::GiveBack(std::unique_ptr<Arena> arena) const {
  const MutexLock lock(mutex_);
  free_.push_back(std::move(arena));
}

absl::Status HostExecutor::Execute(Arena& arena) const {
  const PoisonedArena poisoned(plan(), arena.at(0));
  for (size_t i = 0; i < plan().steps.size(); ++i) {
    const Step& step = plan().steps[i];
    const PoisonedArena::Access access(poisoned, step);
    AMPC_RETURN_IF_ERROR(RunStep(step, arena.operands.data() + step.first, arena.workspaces[i], plan().threads));
  }
  return absl::OkStatus();
}

absl::Status HostExecutor::ExecuteObserved(Arena& arena, ObservedRun& observed) const {
  const Specialized& s = plan().specialized;
  const PoisonedArena poisoned(plan(), arena.at(0));
  for (size_t i = 0; i < plan().steps.size(); ++i) {
    const Step& step = plan().steps[i];
    const PoisonedArena::Access access(poisoned, step);
    void* const* operands = arena.operands.data() + step.first;
    void* const* out = operands + step.inputs;
    ObservedStep seen;
    seen.index = observed.next_index++;
    seen.implementation = step.kernel->implementation();
    seen.start_seconds = observed.Seconds();
    AMPC_RETURN_IF_ERROR(RunStep(step, operands, arena.workspaces[i], plan().threads));
    seen.seconds = observed.Seconds() - seen.start_seconds;
    if (step.instance->op == nullptr) continue;  // a copy or a conversion between layouts computes nothing
    seen.op = step.instance->op;
    std::vector<ObservedValue> results;
    std::deque<HostTensor> plain;
    for (int k = 0; k < step.outputs; ++k) {
      ObservedValue value{seen.op->outputs()[k], s.descs[step.instance->outputs[k]], out[k]};
      if (observed.observer.wants_values()) AMPC_RETURN_IF_ERROR(MakePlain(value, plain));
      results.push_back(value);
    }
    seen.results = results;
    AMPC_RETURN_IF_ERROR(observed.observer.AfterStep(seen));
  }
  return absl::OkStatus();
}

void HostExecutor::CopyFetch(size_t i, const Arena& arena, absl::Span<const HostTensor* const> feeds,
                             absl::Span<HostTensor> fetches) const {
  const Address& address = plan().fetches[i];
  HostTensor& to = fetches[i];
  const void* from = nullptr;
  switch (address.kind) {
    case Address::kArena: from = static_cast<const char*>(arena.memory->data()) + address.offset; break;
    case Address::kConstant: from = address.constant; break;
    case Address::kState: from = address.state; break;
    case Address::kFeed: from = feeds[address.feed]->data(); break;
    case Address::kFetch:
      if (address.fetch == static_cast<int>(i)) return;
      from = fetches[address.fetch].data();
      break;
    case Address::kNone: return;
  }
  const bool computed = address.kind == Address::kArena || address.kind == Address::kFetch;
  const bool half = computed && plan().specialized.descs[plan().specialized.fetches[i]].half;
  if (!half && address.kind != Address::kFeed) return Narrow(from, plan().threads, to);
  if (to.size_bytes() > 0) std::memcpy(to.mutable_data(), from, to.size_bytes());
}

// `shared`: the fetches before this one, and memory in which the steps have worked.
absl::StatusOr<SharedTensor> HostExecutor::ShareFetch(size_t i, const Arena& arena, absl::Span<const SharedTensor> feeds,
                                                      absl::Span<const SharedTensor> shared) const {
  const Specialized& s = plan().specialized;
  const TensorDesc& desc = s.descs[s.fetches[i]];
  const Address& address = plan().fetches[i];
  if (const HostTensor* value = s.values[s.fetches[i]]; value != nullptr) return SharedTensor(shared_from_this(), value);
  const SharedTensor* handed_on = nullptr;
  if (address.kind == Address::kFeed) handed_on = &feeds[address.feed];
  if (address.kind == Address::kFetch) handed_on = &shared[address.fetch];
  const DType dtype = StorageType(desc.dtype);
  if (handed_on != nullptr && (*handed_on)->dtype() == dtype && (*handed_on)->dims() == absl::MakeConstSpan(desc.dims)) return *handed_on;
  AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(dtype, desc.dims));
  const void* from = handed_on != nullptr ? (*handed_on)->data() : address.constant;
  if (address.kind == Address::kArena) from = static_cast<const char*>(arena.memory->data()) + address.offset;
  if (t.size_bytes() > 0) std::memcpy(t.mutable_data(), from, t.size_bytes());
  return std::make_shared<const HostTensor>(std::move(t));
}

absl::Status HostExecutor::Fill(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches, ObservedRun* observed) const {
  const ScopedThreads threads(plan().threads);
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, TakeArena());
  for (const auto& [operand, feed] : feed_operands_) arena->operands[operand] = const_cast<void*>(feeds[feed]->data());
  for (const auto& [operand, fetch] : fetch_operands_) arena->operands[operand] = fetches[fetch].mutable_data();
  for (const FeedCopy& copy : plan().feed_copies) {
    Widen(*feeds[copy.feed], reinterpret_cast<float*>(arena->at(copy.to.offset)), plan().threads);
  }
  const absl::Status status = observed == nullptr ? Execute(*arena) : ExecuteObserved(*arena, *observed);
  for (size_t i = 0; i < fetches.size() && status.ok(); ++i) CopyFetch(i, *arena, feeds, fetches);
  GiveBack(std::move(arena));
  return status;
}

absl::StatusOr<std::vector<SharedTensor>> HostExecutor::RunInner(absl::Span<const SharedTensor> feeds, ObservedRun* observed) const {
  const ScopedThreads threads(plan().threads);
  const Specialized& s = plan().specialized;
  std::vector<SharedTensor> fetches(plan().fetches.size());
  std::vector<void*> memory(fetches.size(), nullptr);
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (plan().fetches[i].kind != Address::kFetch || plan().fetches[i].fetch != static_cast<int>(i)) continue;
    const TensorDesc& desc = s.descs[s.fetches[i]];
    AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(StorageType(desc.dtype), desc.dims));
    auto owned = std::make_shared<HostTensor>(std::move(t));
    memory[i] = owned->mutable_data();
    fetches[i] = std::move(owned);
  }
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, TakeArena());
  for (const auto& [operand, feed] : feed_operands_) arena->operands[operand] = const_cast<void*>(feeds[feed]->data());
  for (const auto& [operand, fetch] : fetch_operands_) arena->operands[operand] = memory[fetch];
  absl::Status status = observed == nullptr ? Execute(*arena) : ExecuteObserved(*arena, *observed);
  for (size_t i = 0; i < fetches.size() && status.ok(); ++i) {
    absl::StatusOr<SharedTensor> fetch = ShareFetch(i, *arena, feeds, fetches);
    status = fetch.status();
    if (status.ok()) fetches[i] = *std::move(fetch);
  }
  GiveBack(std::move(arena));
  if (!status.ok()) return status;
  return fetches;
}

}  // namespace ampc
