#include "runtime/plan/storage_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/op_record.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

ValueId AddHalf(ValueId v, const HostTensor* half, Specialized& s) {
  TensorDesc desc = s.descs[v];
  desc.half = true;
  s.descs.push_back(std::move(desc));
  s.values.push_back(half);
  return static_cast<ValueId>(s.descs.size()) - 1;
}

// Ops that move nothing but constants that stay halves (tables of embeddings) move halves; those that move such a constant beside what is
// computed read it as float32.
void MoveHalves(const PlanContext& context, Specialized& s) {
  for (OpInstance& op : s.ops) {
    const KernelEntry* entry = op.op == nullptr ? nullptr : context.kernels.Find(op.op->type());
    if (entry == nullptr || entry->halves != HalfSupport::kMoves) continue;
    const auto computed = [&s](ValueId v) { return s.descs[v].storage() == DType::kF32 && !IsHalf(s.values[v]); };
    if (std::any_of(op.inputs.begin(), op.inputs.end(), computed)) continue;
    for (ValueId& v : op.inputs) {
      if (IsHalf(s.values[v])) v = AddHalf(v, s.values[v], s);
    }
  }
}

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
      if (MayBeHalf(static_cast<ValueId>(v))) s_.descs[v].half = !fixed_[c] && seconds_[c] < 0;
    }
    for (OpInstance& op : s_.ops) AMPC_RETURN_IF_ERROR(RoundConstants(op));
    FuseCasts();
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
    for (const Var* feed : s_.range.feeds) Fix(feed->id());
    for (size_t v = 0; v < s_.states.size(); ++v) {
      if (s_.states[v] != nullptr) Fix(static_cast<ValueId>(v));
    }
    for (ValueId v : s_.fetches) {
      if (s_.range.inner) Fix(v);
    }
  }

  void Fix(ValueId v) { fixed_[ClassOf(v)] = true; }

  double Elements(ValueId v) const { return static_cast<double>(s_.descs[v].NumElements()); }

  // Pooling, which widens what it loads.
  bool ReducesWindows(const OpInstance& op) const { return context_.kernels.Find(op.op->type())->layouts == LayoutSupport::kAware; }

  // Seconds that a convolution or product is faster in bf16. Dims that the record does not know count as often as the result has more
  // elements.
  double Gain(const OpInstance& op) const {
    double declared = 1;
    for (int64_t d : op.op->outputs()[0]->type.dims) declared *= static_cast<double>(std::max<int64_t>(1, d));
    const double flops = CostOf(*op.op).flops * std::max(1.0, Elements(op.outputs[0]) / declared);
    const bool grouped = op.op->GetInt("groups", 1) > 1;
    return grouped ? flops / device_.f32_grouped - flops / device_.bf16_grouped : flops / device_.f32_flops - flops / device_.bf16_flops;
  }

  // Adds to the classes of the op's values what halves cost more than float32.
  void AddCosts(const OpInstance& op) {
    const HalfSupport support = SupportOf(op);
    const bool multiplies = op.op != nullptr && support == HalfSupport::kEach && AmpClassOf(*op.op) == AmpClass::kAllow;
    ForEachValue(op, [&](ValueId v, bool read) {
      const double n = Elements(v), saved = 2 * n / (4 * n <= device_.kept ? device_.near_bytes : device_.far_bytes);
      double more = -saved;  // where elements are copied, or the library rounds what it has in registers
      if (support == HalfSupport::kNone) more = n / device_.converted + device_.sweep;
      if (support == HalfSupport::kEach && !multiplies && !ReducesWindows(op)) more = n / device_.in_tiles - saved;
      if (multiplies && read) more = -std::min(n / device_.converted + device_.sweep, Gain(op));
      seconds_[ClassOf(v)] += more;
    });
  }

  absl::Status RoundConstants(OpInstance& op) {
    if (SupportOf(op) != HalfSupport::kMoves || op.outputs.empty() || !s_.descs[op.outputs[0]].half) return absl::OkStatus();
    for (ValueId& v : op.inputs) {
      if (s_.values[v] == nullptr || s_.descs[v].half || s_.descs[v].dtype != DType::kBF16) continue;
      if (!IsHalf(s_.values[v])) {
        AMPC_ASSIGN_OR_RETURN(HostTensor rounded, FromStorage(*s_.values[v], DType::kBF16));
        s_.folded.push_back(std::move(rounded));
      }
      v = AddHalf(v, IsHalf(s_.values[v]) ? s_.values[v] : &s_.folded.back(), s_);
    }
    return absl::OkStatus();
  }

  // A cast between float32 and a half in one order of memory.
  bool CastsHalf(const OpInstance& op, bool to_half) const {
    if (op.op == nullptr || (op.op->type() != "cast" && op.op->type() != "amp_cast")) return false;
    const TensorDesc &from = s_.descs[op.inputs[0]], &to = s_.descs[op.outputs[0]];
    return from.half != to.half && to.half == to_half && (to_half ? from : to).dtype == DType::kF32 && from.layout == to.layout;
  }

  // Reads and writes floats in any storage, with one arithmetic or none: a conversion between layouts.
  bool TakesAnyFloat(const OpInstance& op) const {
    if (op.op == nullptr) return true;
    return SupportOf(op) == HalfSupport::kEach && context_.kernels.Find(op.op->type())->layouts == LayoutSupport::kElementwise;
  }

  // Ops that take any storage read what is cast to float32 as the half that it was, and store what is cast to a half as such.
  void FuseCasts() {
    std::vector<ValueId> half_of(s_.descs.size(), -1);  // of a cast's result: its operand
    std::vector<int> readers(s_.descs.size(), 0), maker(s_.descs.size(), -1);
    for (size_t i = 0; i < s_.ops.size(); ++i) {
      OpInstance& op = s_.ops[i];
      if (CastsHalf(op, false)) half_of[op.outputs[0]] = op.inputs[0];
      const bool takes_any = TakesAnyFloat(op);
      for (ValueId& v : op.inputs) {
        if (half_of[v] >= 0 && takes_any) v = half_of[v];
        ++readers[v];
      }
      for (ValueId v : op.outputs) maker[v] = takes_any ? static_cast<int>(i) : -1;
    }
    for (ValueId v : s_.fetches) ++readers[v];
    std::vector<OpInstance> kept;
    std::vector<int> place(s_.ops.size(), -1);  // in `kept`
    for (size_t i = 0; i < s_.ops.size(); ++i) {
      OpInstance& op = s_.ops[i];
      if (CastsHalf(op, false) && readers[op.outputs[0]] == 0) continue;
      if (CastsHalf(op, true) && readers[op.inputs[0]] == 1 && maker[op.inputs[0]] >= 0 && s_.StateOf(op.inputs[0]) == nullptr) {
        std::vector<ValueId>& made = kept[place[maker[op.inputs[0]]]].outputs;
        std::replace(made.begin(), made.end(), op.inputs[0], op.outputs[0]);
        continue;
      }
      place[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(op));
    }
    s_.ops = std::move(kept);
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
  if (context.target != nullptr) return absl::OkStatus();
  MoveHalves(context, s);
  if (!context.excess_precision || device.bf16_flops == 0) return absl::OkStatus();
  return StorageAssigner(context, device, s).Run();
}

}  // namespace ampc
