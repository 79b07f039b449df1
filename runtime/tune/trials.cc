#include "runtime/tune/trials.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "passes/cleanup/prune.h"
#include "runtime/compare/decisions.h"
#include "runtime/compare/difference.h"
#include "runtime/compare/verdict.h"
#include "runtime/feeds.h"
#include "runtime/session.h"

namespace ampc {
namespace {

constexpr int64_t kMostCachedBytes = int64_t{2} << 30;  // of all inputs together
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls `visit` with every op that `op` of the main block runs: itself and those of its blocks.
template <typename F>
void ForEachRun(const Op& op, F&& visit) {
  visit(op);
  for (const int b : op.SubBlocks()) {
    for (const std::unique_ptr<Op>& inner : op.block().program().block(b).ops()) ForEachRun(*inner, visit);
  }
}

// The values of the main block that one op of it defines, by the names that a run has for them; null where several have a name.
absl::flat_hash_map<std::string, const Var*> NamedValues(const Program& program) {
  absl::flat_hash_map<std::string, const Var*> named;
  ForEachVar(program, [&](const Var& var) {
    const bool defined_once = var.kind == VarKind::kTemp && var.block().index() == 0;
    const auto [it, is_new] = named.emplace(var.exported(), defined_once ? &var : nullptr);
    if (!is_new) it->second = nullptr;
  });
  return named;
}

// Keeps float32 values by Var::id until `room` is used up.
class KeepValues : public StepObserver {
 public:
  KeepValues(const absl::flat_hash_map<std::string, const Var*>& named, int64_t* room, std::vector<HostTensor>* values)
      : named_(named), room_(*room), values_(*values) {}
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& value : step.results) {
      const auto it = named_.find(value.var->exported());
      if (it == named_.end() || it->second == nullptr || value.desc.dtype != DType::kF32 || value.desc.NumElements() == 0) continue;
      const int64_t bytes = value.desc.NumElements() * 4;
      if (bytes > room_) continue;
      room_ -= bytes;
      AMPC_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::CreateUninitialized(DType::kF32, value.desc.dims));
      std::memcpy(copy.mutable_data(), value.data, copy.size_bytes());
      values_[it->second->id()] = std::move(copy);
    }
    return absl::OkStatus();
  }

 private:
  const absl::flat_hash_map<std::string, const Var*>& named_;
  int64_t& room_;
  std::vector<HostTensor>& values_;
};

// Which values may be others than the original's where these ops are low, by Var::id.
std::vector<bool> ChangedValues(const Program& program, const Assignment& low) {
  std::vector<bool> changed(program.num_var_ids(), false);
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    bool other = false;
    ForEachRun(*op, [&](const Op& run) {
      other = other || low[run.id()] ||
              std::any_of(run.inputs().begin(), run.inputs().end(), [&](const Var* var) { return changed[var->id()]; });
    });
    if (!other) continue;
    ForEachRun(*op, [&](const Op& run) {
      for (const Var* var : run.outputs()) changed[var->id()] = true;
    });
  }
  return changed;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Trials>> Trials::Create(const TunedModel& model, std::vector<TensorMap> inputs, int threads) {
  std::unique_ptr<Trials> trials(new Trials(model, threads));
  AMPC_ASSIGN_OR_RETURN(trials->original_, Session::Create(model.program().Clone(), {.threads = threads, .strict_rounding = true}));
  trials->decisions_ = OutputsThatDecide(model.program());
  for (const TensorMap& input : inputs) {
    AMPC_ASSIGN_OR_RETURN(trials->references_.emplace_back(), trials->original_->Run(input));
  }
  trials->inputs_ = std::move(inputs);
  return trials;
}

absl::Status Trials::Keep(const std::vector<int>& inputs) {
  const Program& program = model_.program();
  const absl::flat_hash_map<std::string, const Var*> named = NamedValues(program);
  int64_t room = kMostCachedBytes;
  kept_inputs_ = inputs;
  values_.clear();
  kept_.assign(program.num_var_ids(), true);
  for (const int input : inputs) {
    Values values(program.num_var_ids());
    KeepValues keep(named, &room, &values);
    AMPC_RETURN_IF_ERROR(original_->Run(inputs_[input], keep).status());
    for (size_t v = 0; v < values.size(); ++v) kept_[v] = kept_[v] && values[v].num_elements() > 0;
    values_.push_back(std::move(values));
  }
  return absl::OkStatus();
}

double Trials::Judge(const TensorMap& outputs, int input, Trial* trial) const {
  double worst = 0;
  for (const auto& [name, value] : outputs) {
    const HostTensor& original = references_[input].at(name);
    if (original.dims() != value.dims()) {
      worst = kInfinity;
      if (trial->passed) trial->why = absl::StrCat("output '", name, "': other dims");
      trial->passed = false;
      continue;
    }
    const Difference difference = Compare(original, value, model_.options().dtype);
    worst = std::max(worst, difference.mismatched_non_finite > 0 ? kInfinity : difference.max_rel);
    const OutputVerdict verdict =
        JudgeOutput(original, value, difference, {.lowest = model_.options().dtype, .decisions = decisions_.contains(name)});
    if (!verdict.passed && trial->passed) trial->why = absl::StrCat("output '", name, "': ", verdict.why);
    trial->passed = trial->passed && verdict.passed;
  }
  trial->error = std::max(trial->error, worst);
  return worst;
}

absl::StatusOr<Trial> Trials::Run(const Assignment& low, absl::Span<const int> inputs) const {
  AMPC_ASSIGN_OR_RETURN(Program program, model_.Rewrite(low));
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(program), {.threads = threads_, .strict_rounding = true}));
  Trial trial;
  for (const int input : inputs) {
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, InTypesOf(inputs_[input], session.inputs()));
    AMPC_ASSIGN_OR_RETURN(TensorMap outputs, session.Run(feeds));
    trial.errors.push_back(Judge(outputs, input, &trial));
    trial.outputs.push_back(std::move(outputs));
  }
  return trial;
}

absl::StatusOr<Trial> Trials::Original(absl::Span<const int> inputs) const {
  Trial trial;
  for (const int input : inputs) {
    trial.errors.push_back(Judge(references_[input], input, &trial));
    trial.outputs.push_back(references_[input]);
  }
  return trial;
}

bool Trials::CutBehind(const Assignment& low, Program* program, double* share) const {
  const std::vector<bool> changed = ChangedValues(model_.program(), low);
  std::vector<const Op*> maker(program->num_var_ids(), nullptr);
  for (const std::unique_ptr<Op>& op : program->main().ops()) {
    for (const Var* var : op->outputs()) maker[var->id()] = op.get();
  }
  const auto is_given = [&](const Var& var) {
    if (var.kind == VarKind::kFeed) return true;
    return var.id() < static_cast<int>(kept_.size()) && kept_[var.id()] && !changed[var.id()] && var.kind == VarKind::kTemp &&
           var.type.dtype == DType::kF32 && var.was == DType::kInvalid;
  };
  std::vector<bool> seen(program->num_var_ids(), false), needed(program->num_op_ids(), false);
  std::vector<const Var*> open(program->fetches.begin(), program->fetches.end());
  std::vector<const Var*> given;
  while (!open.empty()) {
    const Var* var = open.back();
    open.pop_back();
    if (seen[var->id()]) continue;
    seen[var->id()] = true;
    if (is_given(*var)) {
      given.push_back(var);
    } else if (const Op* op = maker[var->id()]; op != nullptr && !needed[op->id()]) {
      needed[op->id()] = true;
      open.insert(open.end(), op->inputs().begin(), op->inputs().end());
    }
  }
  double all = 0, part = 0;
  ForEachOp(model_.program(), [&](const Op& op) {
    const double seconds = model_.OpSeconds(op, false);
    all += seconds;
    const bool behind = std::any_of(op.outputs().begin(), op.outputs().end(), [&](const Var* var) { return changed[var->id()]; });
    part += behind ? seconds : 0;
  });
  std::vector<std::string> feeds;
  std::sort(given.begin(), given.end(), [](const Var* a, const Var* b) { return a->id() < b->id(); });
  for (const Var* var : given) feeds.push_back(var->name());
  if (!Prune(feeds, {}, *program).ok()) return false;
  *share = all > 0 ? part / all : 1;
  return true;
}

absl::StatusOr<Trial> Trials::RunBehind(const Assignment& low) const {
  AMPC_ASSIGN_OR_RETURN(Program program, model_.Rewrite(low));
  Trial trial;
  if (!CutBehind(low, &program, &trial.share)) return Run(low, kept_inputs_);
  std::vector<std::pair<const Var*, std::string>> feeds;  // of the model's program: what each feed is
  for (const Var* feed : program.feeds) {
    const Var* original = model_.program().main().FindVar(feed->name());
    feeds.emplace_back(original, original->exported());
  }
  absl::StatusOr<Session> session = Session::Create(std::move(program), {.threads = threads_, .strict_rounding = true});
  if (!session.ok()) return Run(low, kept_inputs_);
  const std::vector<ValueInfo> wanted = session->inputs();
  for (size_t k = 0; k < kept_inputs_.size(); ++k) {
    TensorMap by_name;
    for (size_t i = 0; i < feeds.size(); ++i) {
      const auto& [var, name] = feeds[i];
      by_name[wanted[i].name] = var->kind == VarKind::kFeed ? inputs_[kept_inputs_[k]].at(name) : values_[k][var->id()];
    }
    AMPC_ASSIGN_OR_RETURN(const TensorMap typed, InTypesOf(std::move(by_name), wanted));
    const absl::StatusOr<TensorMap> outputs = session->Run(typed);
    if (!outputs.ok()) return Run(low, kept_inputs_);
    Judge(*outputs, kept_inputs_[k], &trial);
  }
  return trial;
}

}  // namespace ampc
