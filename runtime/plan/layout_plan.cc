#include "runtime/plan/layout_plan.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "graph/base/status_macros.h"
#include "graph/op_record.h"
#include "kernels/layout.h"
#include "runtime/plan/move_kernels.h"

namespace ampc {
namespace {

class LayoutAssigner {
 public:
  LayoutAssigner(const PlanContext& context, Specialized& s)
      : context_(context), s_(s), copy_of_(s.descs.size(), -1), convolved_(s.descs.size(), false), handed_over_(s.descs.size(), false) {}

  absl::Status Run() {
    std::vector<OpInstance> ops = std::exchange(s_.ops, {});
    FindConvolved(ops);
    FindHandedOver(ops);
    for (OpInstance& op : ops) {
      AMPC_RETURN_IF_ERROR(Visit(op));
      s_.ops.push_back(std::move(op));
    }
    for (ValueId& fetch : s_.fetches) {
      AMPC_ASSIGN_OR_RETURN(fetch, In(Layout::kPlain, fetch));
    }
    return absl::OkStatus();
  }

 private:
  // On a device the tensors that its convolution library computes fastest in that order.
  bool CanBeChannelsLast(const TensorDesc& desc) const {
    const bool image = desc.dims.size() == 4, volume = desc.dims.size() == 5;
    if (!image && !(volume && context_.target == nullptr)) return false;
    return context_.target != nullptr ? IsLowPrecision(desc.dtype) : StorageType(desc.dtype) == DType::kF32 || IsByte(desc.dtype);
  }
  static bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

  const KernelEntry* EntryOf(const OpInstance& op) const {
    return (context_.target != nullptr ? *context_.target->device.kernels : context_.kernels).Find(op.op->type());
  }

  static bool IsConvolution(const OpInstance& op) { return AmpClassOf(*op.op) == AmpClass::kAllow || op.op->type() == "quantized_conv2d"; }

  // Fills convolved_: ops come after what makes their operands.
  void FindConvolved(const std::vector<OpInstance>& ops) {
    std::vector<bool> converted(s_.descs.size(), false);
    const auto needed_plain = [&](ValueId v) { convolved_[v] = converted[v] = false; };
    for (const OpInstance& op : ops) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const ValueId v = op.inputs[i];
        if (!converted[v]) continue;
        if (i == 0 && Convolves(op)) {
          convolved_[v] = true;
        } else {
          needed_plain(v);
        }
      }
      if (Converts(op)) converted[op.outputs[0]] = true;
    }
    for (ValueId v : s_.fetches) needed_plain(v);
  }

  // Fills handed_over_: ops come after what makes their operands.
  void FindHandedOver(const std::vector<OpInstance>& ops) {
    std::vector<int> readers(s_.descs.size(), 0);
    for (const OpInstance& op : ops) {
      for (ValueId v : op.inputs) ++readers[v];
    }
    for (ValueId v : s_.fetches) handed_over_[v] = readers[v] == 0;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      const KernelEntry* entry = op->inputs.size() == 1 && op->outputs.size() == 1 ? EntryOf(*op) : nullptr;
      if (entry == nullptr || (entry->layouts != LayoutSupport::kElementwise && entry->layouts != LayoutSupport::kConverts)) continue;
      if (handed_over_[op->outputs[0]] && readers[op->inputs[0]] == 1) handed_over_[op->inputs[0]] = true;
    }
  }

  // Whether less is transposed where the op reads row-major: it enlarges what is only handed over.
  bool EnlargesFetch(const OpInstance& op, const KernelEntry& entry) const {
    return context_.target == nullptr && entry.layouts == LayoutSupport::kFollows && op.inputs.size() == 1 && op.outputs.size() == 1 &&
           handed_over_[op.outputs[0]] && s_.descs[op.outputs[0]].NumElements() > s_.descs[op.inputs[0]].NumElements();
  }

  // Whether the op rounds its operand and may change its order.
  bool Converts(const OpInstance& op) const {
    if (op.inputs.size() != 1 || op.outputs.size() != 1 || !CanBeChannelsLast(s_.descs[op.inputs[0]])) return false;
    const TensorDesc &in = s_.descs[op.inputs[0]], &out = s_.descs[op.outputs[0]];
    if (!CanBeChannelsLast(out) || IsByte(in.dtype) || IsByte(out.dtype) || SameInBothLayouts(out.dims) || out.dtype == in.dtype ||
        out.dtype == DType::kF32)
      return false;
    const KernelEntry* entry = EntryOf(op);
    return entry != nullptr && entry->layouts == LayoutSupport::kConverts;
  }

  // Whether the op is a convolution of operand 0 that takes it channels-last.
  bool Convolves(const OpInstance& op) const {
    if (!IsConvolution(op) || op.outputs.empty() || !CanBeChannelsLast(s_.descs[op.outputs[0]])) return false;
    const KernelEntry* entry = EntryOf(op);
    if (entry == nullptr || entry->layouts != LayoutSupport::kAware) return false;
    KernelSpec spec = SpecOf(op, s_, context_);
    spec.inputs[0].layout = Layout::kChannelsLast;
    return AcceptsLayouts(*entry, spec);
  }

  absl::Status Visit(OpInstance& op) {
    const KernelEntry* entry = EntryOf(op);
    if (entry == nullptr && context_.target == nullptr) return NoKernel(*op.op);
    if (entry == nullptr || WritesLargeState(op)) return SetInputs(op, Layout::kPlain);
    if (EnlargesFetch(op, *entry)) return SetInputs(op, Layout::kPlain);
    const bool keeps = entry->layouts == LayoutSupport::kAware || entry->layouts == LayoutSupport::kFollows, moves = MovesOnly(op);
    if (moves && entry->layouts == LayoutSupport::kAware && Permutes(op)) return absl::OkStatus();
    if (keeps && !moves && TryAware(op, *entry)) return absl::OkStatus();
    const bool alike = entry->layouts == LayoutSupport::kElementwise || entry->layouts == LayoutSupport::kConverts ||
                       (moves && entry->layouts == LayoutSupport::kFollows);
    if (alike && LargestIsChannelsLast(op) && TryAlike(op, *entry)) return SetInputs(op, Layout::kChannelsLast);
    if (entry->layouts == LayoutSupport::kConverts && convolved_[op.outputs[0]]) {
      s_.descs[op.outputs[0]].layout = Layout::kChannelsLast;
      return absl::OkStatus();
    }
    return SetInputs(op, Layout::kPlain);
  }

  // States are row-major.
  bool WritesLargeState(const OpInstance& op) const {
    return std::any_of(op.outputs.begin(), op.outputs.end(),
                       [this](ValueId v) { return s_.StateOf(v) != nullptr && CanBeChannelsLast(s_.descs[v]); });
  }

  // A convolution makes channels-last whatever it reads; pooling and normalisation keep the order that they read.
  bool TryAware(OpInstance& op, const KernelEntry& entry) {
    if (op.outputs.empty() || !CanBeChannelsLast(s_.descs[op.outputs[0]])) return false;
    if (!IsConvolution(op) && s_.descs[op.inputs[0]].layout != Layout::kChannelsLast) return false;
    s_.descs[op.outputs[0]].layout = Layout::kChannelsLast;
    if (AcceptsLayouts(entry, SpecOf(op, s_, context_))) return true;
    s_.descs[op.outputs[0]].layout = Layout::kPlain;
    return false;
  }

  // Joins, cuts or permutes.
  bool MovesOnly(const OpInstance& op) const {
    const KernelEntry* entry = context_.kernels.Find(op.op->type());
    return entry != nullptr && entry->halves == HalfSupport::kMoves;
  }

  // A permutation reads either order. It makes channels-last what then is the operand's own memory, and what keeps the channels of a
  // channels-last operand in their place.
  bool Permutes(OpInstance& op) {
    const TensorDesc& in = s_.descs[op.inputs[0]];
    TensorDesc& out = s_.descs[op.outputs[0]];
    if (op.inputs.size() != 1 || !CanBeChannelsLast(in) || !CanBeChannelsLast(out)) return false;
    const std::vector<int64_t> axes = op.op->GetInts("axis");
    std::vector<int64_t> to_front(axes.size());  // the last dim becomes the channels
    std::iota(to_front.begin(), to_front.end(), 0);
    std::rotate(to_front.begin() + 1, to_front.end() - 1, to_front.end());
    const bool last = in.layout == Layout::kChannelsLast;
    if (last ? axes[0] == 0 && axes[1] == 1 : axes == to_front) out.layout = Layout::kChannelsLast;
    return true;
  }

  bool LargestIsChannelsLast(const OpInstance& op) const {
    const TensorDesc* largest = nullptr;
    for (ValueId v : op.inputs) {
      if (largest == nullptr || s_.descs[v].NumElements() > largest->NumElements()) largest = &s_.descs[v];
    }
    return largest != nullptr && largest->layout == Layout::kChannelsLast;
  }

  bool TryAlike(OpInstance& op, const KernelEntry& entry) {
    KernelSpec spec = SpecOf(op, s_, context_);
    const auto make_last = [this](std::vector<TensorDesc>& descs) {
      for (TensorDesc& d : descs) {
        if (CanBeChannelsLast(d)) d.layout = Layout::kChannelsLast;
      }
    };
    make_last(spec.inputs);
    make_last(spec.outputs);
    if (!AcceptsLayouts(entry, spec)) return false;
    for (ValueId v : op.outputs) {
      if (CanBeChannelsLast(s_.descs[v])) s_.descs[v].layout = Layout::kChannelsLast;
    }
    return true;
  }

  absl::Status SetInputs(OpInstance& op, Layout layout) {
    for (ValueId& v : op.inputs) {
      if (!CanBeChannelsLast(s_.descs[v])) continue;
      AMPC_ASSIGN_OR_RETURN(v, In(layout, v));
    }
    return absl::OkStatus();
  }

  // The value in that layout: itself, or the one conversion of it.
  absl::StatusOr<ValueId> In(Layout layout, ValueId v) {
    if (s_.descs[v].layout == layout) return v;
    if (copy_of_[v] >= 0) return copy_of_[v];
    const ValueId copy = static_cast<ValueId>(s_.descs.size());
    TensorDesc desc = s_.descs[v];
    desc.layout = layout;
    s_.descs.push_back(desc);
    s_.values.push_back(nullptr);
    copy_of_.push_back(-1);
    copy_of_[v] = copy;
    if (s_.values[v] == nullptr) {
      OpInstance convert;
      convert.inputs = {v};
      convert.outputs = {copy};
      s_.ops.push_back(std::move(convert));
      return copy;
    }
    AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(StorageType(desc.dtype), desc.dims));
    const Layout given = s_.descs[v].layout;
    AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const HostTensor> value, context_.constants.InStorage(s_.values[v]));
    if (IsByte(desc.dtype)) {
      ConvertByteLayout(context_.threads, desc.dims, given, layout, value->data(), t.mutable_data());
    } else {
      ConvertLayout(context_.threads, desc.dims, given, layout, value->values<float>().data(), t.mutable_values<float>().data());
    }
    s_.folded.push_back(std::move(t));
    s_.values[copy] = &s_.folded.back();
    return copy;
  }

  const PlanContext& context_;
  Specialized& s_;
  std::vector<ValueId> copy_of_;   // by ValueId: the value in the other layout
  std::vector<bool> convolved_;    // by ValueId: what a conversion of types makes and only convolutions read, as what they convolve
  std::vector<bool> handed_over_;  // by ValueId: what is only fetched, as it is or after element-wise ops
};

}  // namespace

absl::Status AssignLayouts(const PlanContext& context, Specialized& s) { return LayoutAssigner(context, s).Run(); }

}  // namespace ampc
