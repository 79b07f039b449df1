#include "runtime/exec/program_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/onnx/lower_onnx.h"
#include "runtime/exec/feed_checks.h"

namespace ampc {
namespace {

constexpr size_t kMaxPlans = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<ProgramRunner>> ProgramRunner::Create(Program program, const RunnerOptions& options) {
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<PreparedProgram> prepared, PreparedProgram::Create(std::move(program), options));
  return std::unique_ptr<ProgramRunner>(new ProgramRunner(std::move(prepared)));
}

ProgramRunner::ProgramRunner(std::unique_ptr<const PreparedProgram> prepared)
    : prepared_(std::move(prepared)),
      whole_(prepared_->context(), WholeRange(program()), kMaxPlans),
      blocks_(prepared_->context()),
      split_(BlockRunner::NeededBy(program(), prepared_->context().kernels)) {}

Outcome ProgramRunner::outcome() const {
  if (HasOnnxOps(program())) return Outcome::kNeedsShapes;
  return split_.load(std::memory_order_relaxed) ? Outcome::kSplitHere : Outcome::kPlan;
}

absl::StatusOr<std::shared_ptr<const Executor>> ProgramRunner::WholePlan(absl::Span<const HostTensor* const> feeds) {
  if (split_.load(std::memory_order_relaxed)) return nullptr;
  std::vector<KnownFeed> known;
  known.reserve(feeds.size());
  for (const HostTensor* feed : feeds) known.push_back({feed->dims()});
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Executor> executor, whole_.Get(known));
  if (executor->plan().specialized.outcome == Outcome::kPlan) return executor;
  split_.store(true, std::memory_order_relaxed);
  return nullptr;
}

// Its states are on the host.
absl::StatusOr<std::vector<HostTensor>> ProgramRunner::RunBlocks(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) {
  const MirroredStates* const mirrored = prepared_->mirrored();
  if (mirrored == nullptr) return blocks_.Run(feeds, observed);
  AMPC_RETURN_IF_ERROR(mirrored->BeforeHostRun());
  absl::StatusOr<std::vector<HostTensor>> results = blocks_.Run(feeds, observed);
  mirrored->AfterHostRun();
  return results;
}

absl::StatusOr<std::vector<HostTensor>> ProgramRunner::Run(absl::Span<const HostTensor* const> feeds, ObservedRun* observed) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor == nullptr) return RunBlocks(feeds, observed);
  const MirroredStates* const mirrored = prepared_->mirrored();
  if (mirrored == nullptr) return executor->Run(feeds, observed);
  AMPC_RETURN_IF_ERROR(mirrored->BeforeRun());
  absl::StatusOr<std::vector<HostTensor>> results = executor->Run(feeds, observed);
  mirrored->AfterRun();
  return results;
}

absl::Status ProgramRunner::RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor != nullptr && prepared_->mirrored() == nullptr) return executor->RunInto(feeds, fetches, nullptr);
  AMPC_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, Run(feeds, nullptr));
  for (size_t i = 0; i < results.size(); ++i) {
    AMPC_RETURN_IF_ERROR(CheckFetch(*program().fetches[i], results[i].dtype(), results[i].dims(), fetches[i]));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].size_bytes() > 0) std::memcpy(fetches[i].mutable_data(), results[i].data(), results[i].size_bytes());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ProgramRunner::PlanText(absl::Span<const HostTensor* const> feeds) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor == nullptr) return UnsupportedError("one plan cannot hold this program: it has control flow, or shapes that depend on data");
  return ToString(executor->plan());
}

absl::Status ProgramRunner::Enqueue(absl::Span<const HostTensor* const> feeds) {
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const Executor> executor, WholePlan(feeds));
  if (executor == nullptr) return RunBlocks(feeds, nullptr).status();
  const MirroredStates* const mirrored = prepared_->mirrored();
  if (mirrored == nullptr) return executor->Enqueue(feeds);
  AMPC_RETURN_IF_ERROR(mirrored->BeforeRun());
  const absl::Status status = executor->Enqueue(feeds);
  mirrored->AfterRun();
  return status;
}

int64_t ProgramRunner::arena_bytes() const { return std::max(whole_.arena_bytes(), blocks_.arena_bytes()); }

}  // namespace ampc
