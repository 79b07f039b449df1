#include "runtime/train/step_runner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/tensor_desc.h"
#include "passes/accumulate/accumulate.h"
#include "runtime/train/scalers.h"

namespace ampc {
namespace {

// The place of `var` among the fetches, at the end where it was none; passes keep what is fetched.
int Fetch(Var* var, Program& program) {
  const auto at = std::find(program.fetches.begin(), program.fetches.end(), var);
  const int place = static_cast<int>(at - program.fetches.begin());
  if (at == program.fetches.end()) program.fetches.push_back(var);
  return place;
}

}  // namespace

absl::StatusOr<StepRunner> StepRunner::Create(const Program& main, const StepOptions& step, Scope& scope) {
  StepRunner out;
  out.scope_ = &scope;
  const RunnerOptions options{.threads = step.threads, .fuse = false, .fuse_linear = true, .scope = &scope, .target = step.target};
  for (const ScalerView& scaler : FindScalers(main)) {
    std::vector<std::string>& names = out.scalers_.emplace_back();
    for (const Var* found : scaler.found) names.push_back(found->name());
  }
  out.found_inf_.assign(out.scalers_.size(), false);
  std::set<std::string> written;
  ForEachOp(main, [&](const Op& op) {
    for (const Var* var : op.outputs()) {
      if (LivesInScope(*var)) written.insert(var->name());
    }
  });
  Program program = main.Clone();
  if (!step.loss.empty()) {
    AMPC_ASSIGN_OR_RETURN(out.loss_, SkipWithoutLoss(program, step.loss));
  }
  const std::vector<PutBackState> states = step.put_back ? StatesToPutBack(program, out.loss_.bad) : std::vector<PutBackState>();
  AMPC_RETURN_IF_ERROR(step.accumulate == 1 ? out.AddWhole(std::move(program), states, options)
                                            : out.AddSplit(program, step.accumulate, states, options));
  written.insert(out.sums_.begin(), out.sums_.end());
  out.written_.assign(written.begin(), written.end());
  return out;
}

absl::Status StepRunner::AddWhole(Program program, const std::vector<PutBackState>& states, const RunnerOptions& options) {
  const size_t fetches = program.fetches.size();
  AMPC_RETURN_IF_ERROR(PutBackSkipped(states, program));
  AddZero(program);
  AddFlags(program);
  std::vector<int> feeds(program.feeds.size());
  std::iota(feeds.begin(), feeds.end(), 0);
  return AddPart(std::move(program), std::move(feeds), fetches, options);
}

absl::Status StepRunner::AddSplit(const Program& program, int accumulate, const std::vector<PutBackState>& states,
                                  const RunnerOptions& options) {
  AMPC_ASSIGN_OR_RETURN(AccumulatingProgram split, SplitForAccumulation(program, accumulate));
  AMPC_RETURN_IF_ERROR(AddTransient(split.micro, split.sums));
  sums_ = std::move(split.sums);
  const size_t fetches = split.micro.fetches.size(), update_fetches = split.update.fetches.size();
  if (!states.empty()) {
    AMPC_ASSIGN_OR_RETURN(KeptStates kept, PutBackSkippedWindow(states, split.update));
    AMPC_RETURN_IF_ERROR(AddTransient(kept.keep, kept.kept));
    AMPC_ASSIGN_OR_RETURN(keep_, ProgramRunner::Create(std::move(kept.keep), options));
  }
  AddZero(split.micro);
  std::vector<int> feeds(program.feeds.size());
  std::iota(feeds.begin(), feeds.end(), 0);
  AMPC_RETURN_IF_ERROR(AddPart(std::move(split.micro), std::move(feeds), fetches, options));
  AddFlags(split.update);
  return AddPart(std::move(split.update), std::move(split.update_feeds), update_fetches, options);
}

absl::Status StepRunner::AddTransient(const Program& program, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const TensorType& type = program.main().FindVar(name)->type;
    AMPC_ASSIGN_OR_RETURN(HostTensor zeros, HostTensor::Create(StorageType(type.dtype), type.dims));
    AMPC_RETURN_IF_ERROR(scope_->Add(name, type.dtype, std::move(zeros)));
    transient_.push_back(name);
  }
  return absl::OkStatus();
}

void StepRunner::AddZero(Program& program) {
  if (!loss_.zero.empty()) zero_fetch_ = Fetch(program.main().FindVar(loss_.zero), program);
}

void StepRunner::AddFlags(Program& program) {
  const auto add = [&](const std::string& name, int scaler) {
    Var* var = program.main().FindVar(name);
    if (var == nullptr) return;
    Flag flag;
    flag.scaler = scaler;
    if (LivesInScope(*var)) {
      flag.variable = var->name();
    } else {
      flag.fetch = Fetch(var, program);
    }
    flags_.push_back(std::move(flag));
  };
  for (size_t s = 0; s < scalers_.size(); ++s) {
    for (const std::string& found : scalers_[s]) add(found, static_cast<int>(s));
  }
  if (!loss_.bad.empty()) add(loss_.bad, -1);
}

absl::Status StepRunner::AddPart(Program program, std::vector<int> feeds, size_t fetches, const RunnerOptions& options) {
  Part part;
  part.feeds = std::move(feeds);
  part.fetches = fetches;
  AMPC_ASSIGN_OR_RETURN(part.runner, ProgramRunner::Create(std::move(program), options));
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

absl::Status StepRunner::ReadFlags(absl::Span<const HostTensor> results) {
  std::fill(found_inf_.begin(), found_inf_.end(), false);
  all_losses_were_finite_ = true;
  for (const Flag& flag : flags_) {
    if (flag.fetch < 0) AMPC_RETURN_IF_ERROR(scope_->Refresh({&flag.variable, 1}));
    const HostTensor& value = flag.fetch >= 0 ? results[flag.fetch] : scope_->Find(flag.variable)->value;
    if (value.num_elements() == 0 || !*static_cast<const bool*>(value.data())) continue;
    if (flag.scaler < 0) {
      all_losses_were_finite_ = false;
    } else {
      found_inf_[flag.scaler] = true;
    }
  }
  return absl::OkStatus();
}

absl::Status StepRunner::Run(absl::Span<const HostTensor* const> feeds, StepPart part_of, StepObserver* observer, TensorMap* fetches) {
  const size_t last = part_of.last ? parts_.size() : 1;
  if (part_of.first && keep_ != nullptr) AMPC_RETURN_IF_ERROR(keep_->Run({}, nullptr).status());
  std::optional<ObservedRun> observed;
  if (observer != nullptr) observed.emplace(*observer);
  std::vector<const HostTensor*> values;
  for (size_t p = 0; p < last; ++p) {
    Part& part = parts_[p];
    values.clear();
    for (int feed : part.feeds) values.push_back(feeds[feed]);
    AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, part.runner->Run(values, observed.has_value() ? &*observed : nullptr));
    if (p == 0 && zero_fetch_ >= 0) loss_was_finite_ = std::isfinite(results[zero_fetch_].values<float>()[0]);
    if (p + 1 == parts_.size()) AMPC_RETURN_IF_ERROR(ReadFlags(results));
    const std::vector<Var*>& names = part.runner->program().fetches;
    for (size_t i = 0; i < part.fetches; ++i) (*fetches)[names[i]->exported()] = std::move(results[i]);
  }
  return absl::OkStatus();
}

absl::Status StepRunner::Enqueue(absl::Span<const HostTensor* const> feeds, StepPart part_of) {
  const size_t last = part_of.last ? parts_.size() : 1;
  if (part_of.first && keep_ != nullptr) AMPC_RETURN_IF_ERROR(keep_->Enqueue({}));
  std::vector<const HostTensor*> values;
  for (size_t p = 0; p < last; ++p) {
    values.clear();
    for (int feed : parts_[p].feeds) values.push_back(feeds[feed]);
    AMPC_RETURN_IF_ERROR(parts_[p].runner->Enqueue(values));
  }
  return absl::OkStatus();
}

int64_t StepRunner::arena_bytes() const {
  int64_t bytes = 0;
  for (const Part& part : parts_) bytes = std::max(bytes, part.runner->arena_bytes());
  return bytes;
}

}  // namespace ampc
