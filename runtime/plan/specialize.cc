#include "runtime/plan/specialize.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/size.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "kernels/compute.h"

namespace ampc {
namespace {

class Specializer {
 public:
  Specializer(const PlanContext& context, OpRange range)
      : context_(context), types_(context.program.num_var_ids()), value_of_(context.program.num_var_ids()) {
    s_.range = std::move(range);
    s_.descs.resize(value_of_.size());
    s_.values.resize(value_of_.size(), nullptr);
    s_.states.resize(value_of_.size(), nullptr);
    std::iota(value_of_.begin(), value_of_.end(), 0);
    for (int i = s_.range.begin; i < s_.range.end; ++i) {
      const Op& op = *s_.range.block->ops()[i];
      for (absl::Span<Var* const> side : {op.inputs(), op.outputs()}) {
        for (const Var* var : side) Declare(*var);
      }
    }
    for (const Var* var : s_.range.fetches) Declare(*var);
  }

  absl::StatusOr<Specialized> Run(absl::Span<const KnownFeed> feeds) {
    for (size_t i = 0; i < feeds.size(); ++i) SetFeed(*s_.range.feeds[i], feeds[i]);
    for (int i = s_.range.begin; i < s_.range.end; ++i) {
      AMPC_RETURN_IF_ERROR(Visit(*s_.range.block->ops()[i]));
      if (!s_.stopped.ok()) s_.range.end = i;
    }
    if (!s_.stopped.ok()) s_.outcome = s_.range.inner && s_.range.end == s_.range.begin ? Outcome::kNeedsValues : Outcome::kSplitHere;
    if (s_.range.inner) s_.range.fetches = context_.liveness.Writes(*s_.range.block, s_.range.begin, s_.range.end);
    for (const Var* fetch : s_.range.fetches) s_.fetches.push_back(value_of_[fetch->id()]);
    DropUnused();
    return std::move(s_);
  }

 private:
  const HostTensor* ValueOf(const Var& var) const { return s_.values[value_of_[var.id()]]; }

  class Env : public TypeEnv {
   public:
    explicit Env(const Specializer& s) : s_(s) {}
    const TensorType& TypeOf(const Var& var) const override { return s_.types_[var.id()]; }
    const HostTensor* ValueOf(const Var& var) const override { return IsHalf(s_.ValueOf(var)) ? nullptr : s_.ValueOf(var); }
    bool PlansMemory() const override { return true; }
    int64_t MostBytesOfResult() const override { return s_.most_bytes_; }

   private:
    const Specializer& s_;
  };

  // Sets type and value of a variable in front of the first op. An inner range is given the values that others may have overwritten.
  void Declare(const Var& var) {
    if (HostTensor* state = StateOf(var)) {
      s_.states[var.id()] = state;
      SetType(var, TensorType(var.type.dtype, Dims(state->dims().begin(), state->dims().end())));
      return;
    }
    SetType(var, var.type);
    if (!s_.range.inner || context_.liveness.IsConstant(var)) s_.values[var.id()] = context_.constants.Find(var);
  }

  HostTensor* StateOf(const Var& var) const { return context_.states == nullptr || s_.range.inner ? nullptr : context_.states->Find(var); }

  void SetFeed(const Var& var, const KnownFeed& feed) {
    SetType(var, TensorType(var.type.dtype, Dims(feed.dims.begin(), feed.dims.end())));
    if (feed.value == nullptr) return;
    s_.folded.push_back(*feed.value);
    s_.values[var.id()] = &s_.folded.back();
  }

  void SetType(const Var& var, const TensorType& type) {
    types_[var.id()] = type;
    if (type.IsStatic()) s_.descs[value_of_[var.id()]] = {type.dtype, type.dims};
  }

  // Sets s_.stopped, and nothing else, in front of an op that cannot be planned.
  absl::Status Visit(const Op& op) {
    if (op.def().opaque) return UnsupportedError(absl::StrCat(Describe(op), ": no record describes this op, so it cannot be executed"));
    absl::StatusOr<std::vector<std::optional<TensorType>>> results = InferOp(op, Env(*this));
    if (!results.ok()) return Refused(results.status());
    for (size_t i = 0; i < results->size(); ++i) {
      const Var& var = *op.outputs()[i];
      if (!(*results)[i].has_value()) (*results)[i] = types_[var.id()];
      const TensorType& type = *(*results)[i];
      if (SpannedBytes(type.dtype, type.dims) > most_bytes_) {
        return UsageError(absl::StrCat(Describe(op), ": '", var.name(), "' is declared ", ToString(type), ", which takes more than the ",
                                       most_bytes_, " bytes that there can be"));
      }
      if (type.IsStatic() && !(s_.range.inner && ReadsUnknownHostValue(op))) continue;
      s_.stopped = UnsupportedError(absl::StrCat(Describe(op), ": the shape of '", var.name(), "' depends on data, ", ToString(type),
                                                 " is known; only shapes that follow from the feeds' can be executed"));
      return absl::OkStatus();
    }
    OpInstance instance;
    instance.op = &op;
    for (const Var* v : op.inputs()) instance.inputs.push_back(value_of_[v->id()]);
    for (size_t i = 0; i < results->size(); ++i) {
      const Var& var = *op.outputs()[i];
      if (op.Overwrites(static_cast<int>(i))) {
        AMPC_RETURN_IF_ERROR(CheckState(op, var, *(*results)[i]));
        value_of_[var.id()] = static_cast<ValueId>(s_.descs.size());
        s_.descs.emplace_back();
        s_.values.push_back(nullptr);
        s_.states.push_back(StateOf(var));
      }
      SetType(var, *(*results)[i]);
      instance.outputs.push_back(value_of_[var.id()]);
    }
    if (CanFold(instance)) return Fold(instance);
    s_.ops.push_back(std::move(instance));
    return absl::OkStatus();
  }

  // A state keeps its memory, so nothing of another size goes there.
  absl::Status CheckState(const Op& op, const Var& var, const TensorType& type) const {
    const HostTensor* state = StateOf(var);
    if (state == nullptr || state->dims() == absl::MakeConstSpan(type.dims)) return absl::OkStatus();
    return UsageError(
        absl::StrCat(Describe(op), ": writes ", ToString(type), " to '", var.name(), "', which keeps ", ShapeToString(state->dims())));
  }

  bool ReadsUnknownHostValue(const Op& op) const {
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      if (op.def().inputs[op.InputSlotOf(static_cast<int>(i))].host_value && ValueOf(*op.inputs()[i]) == nullptr) return true;
    }
    return false;
  }

  // Inference accepted the program as loaded, so dims that it refuses now came with the feeds.
  static absl::Status Refused(const absl::Status& status) {
    if (ExitCodeOf(status) != ExitCode::kBadInput) return status;
    return UsageError(absl::StrCat("the shapes of the feeds do not fit the model: ", status.message()));
  }

  bool CanFold(const OpInstance& op) const {
    if (!op.op->def().pure || WritesState(op)) return false;
    if (op.op->type() == "shape") return true;  // needs its operand's type only
    return std::all_of(op.inputs.begin(), op.inputs.end(), [this](ValueId v) { return s_.values[v] != nullptr; });
  }

  bool WritesState(const OpInstance& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(), [this](ValueId v) { return s_.states[v] != nullptr; });
  }

  absl::Status Fold(const OpInstance& op) {
    const KernelEntry* entry = context_.kernels.Find(op.op->type());
    if (entry == nullptr) return NoKernel(*op.op);
    KernelSpec spec = SpecOf(op, s_, context_);
    AMPC_ASSIGN_OR_RETURN(const auto read, ReadInStorage(context_, &spec));
    AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, Compute(*entry, spec));
    for (size_t i = 0; i < results.size(); ++i) {
      s_.folded.push_back(std::move(results[i]));
      s_.values[op.outputs[i]] = &s_.folded.back();
    }
    return absl::OkStatus();
  }

  // Folding leaves ops whose results nobody needs any more. The next run needs the last value of a state.
  void DropUnused() {
    std::vector<bool> needed(s_.descs.size(), false);
    for (ValueId fetch : s_.fetches) needed[fetch] = true;
    for (size_t var = 0; var < value_of_.size(); ++var) {
      if (s_.states[value_of_[var]] != nullptr) needed[value_of_[var]] = true;
    }
    std::vector<OpInstance> kept;
    for (auto it = s_.ops.rbegin(); it != s_.ops.rend(); ++it) {
      if (std::none_of(it->outputs.begin(), it->outputs.end(), [&](ValueId v) { return needed[v]; })) continue;
      for (ValueId v : it->inputs) needed[v] = true;
      kept.push_back(std::move(*it));
    }
    std::reverse(kept.begin(), kept.end());
    s_.ops = std::move(kept);
  }

  const PlanContext& context_;
  const int64_t most_bytes_ = context_.target == nullptr ? MostBytes() : kMostAddresses;
  std::vector<TensorType> types_;  // by Var::id, at the point reached
  std::vector<ValueId> value_of_;  // by Var::id, at the point reached
  Specialized s_;
};

}  // namespace

absl::Status NoKernel(const Op& op) { return UnsupportedError(absl::StrCat(Describe(op), ": there is no cpu kernel for this op")); }

KernelSpec SpecOf(const OpInstance& op, const Specialized& s, const PlanContext& context) {
  KernelSpec spec;
  spec.op = op.op;
  spec.threads = context.threads;
  spec.weights = context.weights;
  spec.choices = context.choices;
  for (ValueId v : op.inputs) {
    spec.inputs.push_back(s.descs[v]);
    spec.values.push_back(s.values[v]);
  }
  for (ValueId v : op.outputs) spec.outputs.push_back(s.descs[v]);
  return spec;
}

absl::StatusOr<std::vector<std::shared_ptr<const HostTensor>>> ReadInStorage(const PlanContext& context, KernelSpec* spec) {
  std::vector<std::shared_ptr<const HostTensor>> read(spec->values.size());
  for (size_t i = 0; i < read.size(); ++i) {
    if (!IsHalf(spec->values[i]) || spec->inputs[i].half) continue;
    AMPC_ASSIGN_OR_RETURN(read[i], context.constants.InStorage(spec->values[i]));
    spec->values[i] = read[i].get();
  }
  return read;
}

absl::StatusOr<Specialized> Specialize(const PlanContext& context, OpRange range, absl::Span<const KnownFeed> feeds) {
  return Specializer(context, std::move(range)).Run(feeds);
}

}  // namespace ampc
