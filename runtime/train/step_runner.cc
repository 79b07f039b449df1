#include "runtime/train/step_runner.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "passes/accumulate/accumulate.h"

namespace ampc {

absl::StatusOr<StepRunner> StepRunner::Create(const Program& main, int accumulate, int threads, Scope& scope, const DeviceTarget* target) {
  StepRunner out;
  out.scope_ = &scope;
  const RunnerOptions options{.threads = threads, .fuse = false, .fuse_linear = true, .scope = &scope, .target = target};
  const std::vector<ScalerView> scalers = FindScalers(main);
  out.found_inf_.assign(scalers.size(), false);
  std::set<std::string> written;
  ForEachOp(main, [&](const Op& op) {
    for (const Var* var : op.outputs()) {
      if (LivesInScope(*var)) written.insert(var->name());
    }
  });
  std::vector<int> all(main.feeds.size());
  std::iota(all.begin(), all.end(), 0);
  if (accumulate == 1) {
    Program program = main.Clone();
    const size_t fetches = program.fetches.size();
    out.AddFlags(scalers, program);
    AMPC_RETURN_IF_ERROR(out.AddPart(std::move(program), std::move(all), options));
    out.parts_.back().fetches = fetches;
  } else {
    AMPC_ASSIGN_OR_RETURN(AccumulatingProgram split, SplitForAccumulation(main, accumulate));
    for (const std::string& sum : split.sums) {
      const TensorType& type = split.micro.main().FindVar(sum)->type;
      AMPC_ASSIGN_OR_RETURN(HostTensor zeros, HostTensor::Create(StorageType(type.dtype), type.dims));
      AMPC_RETURN_IF_ERROR(scope.Add(sum, type.dtype, std::move(zeros)));
    }
    written.insert(split.sums.begin(), split.sums.end());
    out.sums_ = std::move(split.sums);
    AMPC_RETURN_IF_ERROR(out.AddPart(std::move(split.micro), std::move(all), options));
    const size_t fetches = split.update.fetches.size();
    out.AddFlags(scalers, split.update);
    AMPC_RETURN_IF_ERROR(out.AddPart(std::move(split.update), std::move(split.update_feeds), options));
    out.parts_.back().fetches = fetches;
  }
  out.written_.assign(written.begin(), written.end());
  return out;
}

// Makes fetches of the flags that no scope holds; passes keep what is fetched.
void StepRunner::AddFlags(const std::vector<ScalerView>& scalers, Program& program) {
  for (size_t s = 0; s < scalers.size(); ++s) {
    for (const Var* found : scalers[s].found) {
      Flag flag;
      flag.scaler = static_cast<int>(s);
      Var* var = program.main().FindVar(found->name());
      if (var == nullptr) continue;
      if (LivesInScope(*var)) {
        flag.variable = var->name();
      } else if (const auto at = std::find(program.fetches.begin(), program.fetches.end(), var); at != program.fetches.end()) {
        flag.fetch = static_cast<int>(at - program.fetches.begin());
      } else {
        flag.fetch = static_cast<int>(program.fetches.size());
        program.fetches.push_back(var);
      }
      flags_.push_back(std::move(flag));
    }
  }
}

absl::Status StepRunner::AddPart(Program program, std::vector<int> feeds, const RunnerOptions& options) {
  Part part;
  part.feeds = std::move(feeds);
  part.fetches = program.fetches.size();
  AMPC_ASSIGN_OR_RETURN(part.runner, ProgramRunner::Create(std::move(program), options));
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

absl::Status StepRunner::ReadFlags(absl::Span<const HostTensor> results) {
  std::fill(found_inf_.begin(), found_inf_.end(), false);
  for (const Flag& flag : flags_) {
    if (flag.fetch < 0) AMPC_RETURN_IF_ERROR(scope_->Refresh({&flag.variable, 1}));
    const HostTensor& value = flag.fetch >= 0 ? results[flag.fetch] : scope_->Find(flag.variable)->value;
    if (value.num_elements() > 0 && *static_cast<const bool*>(value.data())) found_inf_[flag.scaler] = true;
  }
  return absl::OkStatus();
}

absl::Status StepRunner::Run(absl::Span<const HostTensor* const> feeds, bool update, StepObserver* observer, TensorMap* fetches) {
  const size_t last = update ? parts_.size() : 1;
  std::optional<ObservedRun> observed;
  if (observer != nullptr) observed.emplace(*observer);
  std::vector<const HostTensor*> values;
  for (size_t p = 0; p < last; ++p) {
    Part& part = parts_[p];
    values.clear();
    for (int feed : part.feeds) values.push_back(feeds[feed]);
    AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, part.runner->Run(values, observed.has_value() ? &*observed : nullptr));
    if (p + 1 == parts_.size()) AMPC_RETURN_IF_ERROR(ReadFlags(results));
    const std::vector<Var*>& names = part.runner->program().fetches;
    for (size_t i = 0; i < part.fetches; ++i) (*fetches)[names[i]->exported()] = std::move(results[i]);
  }
  return absl::OkStatus();
}

absl::Status StepRunner::Enqueue(absl::Span<const HostTensor* const> feeds, bool update) {
  const size_t last = update ? parts_.size() : 1;
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
