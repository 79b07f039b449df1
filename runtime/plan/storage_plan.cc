#include "runtime/plan/storage_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

class StorageAssigner {
 public:
  StorageAssigner(const PlanContext& context, const DeviceNumbers& device, Specialized& s)
      : context_(context), device_(device), s_(s), class_(s.descs.size()), seconds_(s.descs.size(), 0), fixed_(s.descs.size(), false) {
    std::iota(class_.begin(), class_.end(), 0);
  }

  absl::Status Run() {
    for (const OpInstance& op : s_.ops) JoinMoved(op);
    FixValues();
    for (const OpInstance& op : s_.ops) AddCosts(op);
    for (size_t v = 0; v < s_.descs.size(); ++v) {
      const ValueId c = ClassOf(static_cast<ValueId>(v));
      s_.descs[v].half = MayBeHalf(static_cast<ValueId>(v)) && !fixed_[c] && seconds_[c] < 0;
    }
    for (OpInstance& op : s_.ops) AMPC_RETURN_IF_ERROR(RoundConstants(op));
    return absl::OkStatus();
  }

 private:
  // A constant is given a class by what moves it.
  bool MayBeHalf(ValueId v) const { return s_.descs[v].dtype == DType::kBF16 && s_.values[v] == nullptr; }

  HalfSupport SupportOf(const OpInstance& op) const {
    if (op.op == nullptr) return HalfSupport::kMoves;  // a conversion between layouts
    const KernelEntry* entry = context_.kernels.Find(op.op->type());
    return entry == nullptr ? HalfSupport::kNone : entry->halves;
  }

  ValueId ClassOf(ValueId v) {
    while (class_[v] != v) v = class_[v] = class_[class_[v]];
    return v;
  }

  template <typename F>
  void ForEachValue(const OpInstance& op, F f) {
    for (ValueId v : op.inputs) {
      if (MayBeHalf(v)) f(v, true);
    }
    for (ValueId v : op.outputs) {
      if (MayBeHalf(v)) f(v, false);
    }
  }

  void JoinMoved(const OpInstance& op) {
    if (SupportOf(op) != HalfSupport::kMoves) return;
    ValueId first = -1;
    ForEachValue(op, [&](ValueId v, bool) {
      if (first < 0) first = v;
      const ValueId a = ClassOf(first), b = ClassOf(v);
      class_[std::max(a, b)] = std::min(a, b);
    });
  }

  void FixValues() {
    for (const Var* feed : s_.region.feeds) Fix(feed->id());
    for (size_t v = 0; v < s_.states.size(); ++v) {
      if (s_.states[v] != nullptr) Fix(static_cast<ValueId>(v));
    }
    for (ValueId v : s_.fetches) {
      if (s_.region.inner) Fix(v);
    }
  }

  void Fix(ValueId v) { fixed_[ClassOf(v)] = true; }

  double Elements(ValueId v) const { return static_cast<double>(s_.descs[v].NumElements()); }

  // Seconds that a convolution or product is faster in bf16. Dims that the record does not know count as often as the result has more
  // elements.
  double Gain(const OpInstance& op) const {
    if (op.op->def().cost == nullptr) return 0;
    double declared = 1;
    for (int64_t d : op.op->outputs()[0]->type.dims) declared *= static_cast<double>(std::max<int64_t>(1, d));
    const double flops = op.op->def().cost(*op.op).flops * std::max(1.0, Elements(op.outputs[0]) / declared);
    return flops / device_.f32_flops - flops / device_.bf16_flops;
  }

  // Adds to the classes of the op's values what halves cost more than float32.
  void AddCosts(const OpInstance& op) {
    const HalfSupport support = SupportOf(op);
    const bool multiplies = op.op != nullptr && support == HalfSupport::kEach && op.op->def().amp == AmpClass::kAllow;
    ForEachValue(op, [&](ValueId v, bool read) {
      double more = -2 * Elements(v) / device_.bytes;  // two bytes fewer
      if (support == HalfSupport::kNone) more = Elements(v) / device_.converted + device_.sweep;
      if (multiplies && read) more = -std::min(Elements(v) / device_.converted + device_.sweep, Gain(op));
      seconds_[ClassOf(v)] += more;
    });
  }

  absl::Status RoundConstants(OpInstance& op) {
    if (SupportOf(op) != HalfSupport::kMoves || op.outputs.empty() || !s_.descs[op.outputs[0]].half) return absl::OkStatus();
    for (ValueId& v : op.inputs) {
      if (s_.values[v] == nullptr || s_.descs[v].dtype != DType::kBF16) continue;
      AMPC_ASSIGN_OR_RETURN(HostTensor rounded, FromStorage(*s_.values[v], DType::kBF16));
      s_.folded.push_back(std::move(rounded));
      TensorDesc desc = s_.descs[v];
      desc.half = true;
      v = static_cast<ValueId>(s_.descs.size());
      s_.descs.push_back(std::move(desc));
      s_.values.push_back(&s_.folded.back());
    }
    return absl::OkStatus();
  }

  const PlanContext& context_;
  const DeviceNumbers& device_;
  Specialized& s_;
  std::vector<ValueId> class_;   // by ValueId: another of its class, or itself
  std::vector<double> seconds_;  // by class: what halves cost more
  std::vector<bool> fixed_;      // by class: float32
};

}  // namespace

absl::Status AssignStorage(const PlanContext& context, const DeviceNumbers& device, Specialized& s) {
  if (context.target != nullptr || !context.excess_precision || device.bf16_flops == 0) return absl::OkStatus();
  return StorageAssigner(context, device, s).Run();
}

}  // namespace ampc
