#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/halves.h"

namespace ampc {
namespace {

bool IsChannelsLast(const TensorDesc& t) { return t.layout == Layout::kChannelsLast; }

bool AllPlain(const KernelSpec& spec) {
  return std::none_of(spec.inputs.begin(), spec.inputs.end(), IsChannelsLast) &&
         std::none_of(spec.outputs.begin(), spec.outputs.end(), IsChannelsLast);
}

// Images and volumes.
bool HasChannelsAndSpace(const TensorDesc& t) { return t.dims.size() == 4 || t.dims.size() == 5; }

// The same bytes in both layouts.
bool IsNeutral(const TensorDesc& t) {
  if (!HasChannelsAndSpace(t)) return t.NumElements() == 1;
  return t.dims[1] == 1 || std::all_of(t.dims.begin() + 2, t.dims.end(), [](int64_t d) { return d == 1; });
}

// Whether the op, or the op that it is the gradient of, broadcasts its operands by Paddle's rule.
bool Broadcasts(const Op& op) { return op.type() == "fused_elementwise" || op.def().InputSlot("Y") >= 0; }

// The tensor whose dims the operands broadcast to: the result, or its gradient.
const TensorDesc& Broadcasted(const KernelSpec& spec) {
  const int gradient = spec.op->def().InputSlot("Out@GRAD");
  for (size_t i = 0; gradient >= 0 && i < spec.inputs.size(); ++i) {
    if (spec.op->InputSlotOf(static_cast<int>(i)) == gradient) return spec.inputs[i];
  }
  return spec.outputs[0];
}

// The dim of the result at which operand `flat` starts; -1: the last dims are aligned.
int64_t AxisOf(const Op& op, size_t flat) {
  if (op.attr("axes") == nullptr) return op.GetInt("axis", -1);
  const std::vector<int64_t> axes = op.GetInts("axes");
  return flat < axes.size() ? axes[flat] : -1;
}

// A tensor that starts at dim `axis` of the broadcast dims, or, where that is -1, ends with them: with a dim for each of theirs, where the
// op broadcasts; else as it is.
TensorDesc Aligned(const KernelSpec& spec, TensorDesc t, int64_t axis) {
  const TensorDesc& whole = Broadcasted(spec);
  const int64_t rank = static_cast<int64_t>(whole.dims.size()), room = rank - static_cast<int64_t>(t.dims.size());
  if (axis < 0) axis = room;
  if (room <= 0 || axis > room || !HasChannelsAndSpace(whole) || !Broadcasts(*spec.op)) return t;
  t.dims.insert(t.dims.begin(), static_cast<size_t>(axis), 1);
  t.dims.resize(static_cast<size_t>(rank), 1);
  return t;
}

// The spec with all operands and results aligned.
KernelSpec Aligned(const KernelSpec& spec) {
  KernelSpec aligned = spec;
  for (size_t i = 0; i < spec.inputs.size(); ++i) aligned.inputs[i] = Aligned(spec, spec.inputs[i], AxisOf(*spec.op, i));
  for (TensorDesc& t : aligned.outputs) t = Aligned(spec, std::move(t), spec.op->GetInt("axis", -1));
  return aligned;
}

// Dimensions move, so that operands of another rank must say where they start.
bool ElementwiseAccepts(const KernelSpec& spec) {
  const int64_t axis = spec.op->GetInt("axis", -1);
  if (axis != -1 && axis != 0 && !Broadcasts(*spec.op)) return false;
  const auto fits = [](const TensorDesc& t) { return IsChannelsLast(t) || IsNeutral(t); };
  const size_t rank = Broadcasted(spec).dims.size();
  const auto lower = [rank](const TensorDesc& t) { return IsChannelsLast(t) && t.dims.size() != rank; };
  if (std::any_of(spec.inputs.begin(), spec.inputs.end(), lower) || std::any_of(spec.outputs.begin(), spec.outputs.end(), lower))
    return false;
  const KernelSpec aligned = Aligned(spec);
  return std::all_of(aligned.inputs.begin(), aligned.inputs.end(), fits) &&
         std::all_of(aligned.outputs.begin(), aligned.outputs.end(), fits);
}

// From a row-major operand to a channels-last result.
bool ChangesLayout(const KernelSpec& spec) {
  return spec.inputs.size() == 1 && spec.outputs.size() == 1 && spec.inputs[0].layout == Layout::kPlain &&
         IsChannelsLast(spec.outputs[0]) && StorageType(spec.inputs[0].dtype) == DType::kF32 &&
         StorageType(spec.outputs[0].dtype) == DType::kF32;
}

bool GivenInMemoryOrder(const KernelEntry& entry, const KernelSpec& spec) {
  return entry.layouts == LayoutSupport::kElementwise || (entry.layouts == LayoutSupport::kConverts && !ChangesLayout(spec));
}

// Operands beside the first that a layout-aware kernel takes channels-last: the residual, and what a gradient starts from.
bool MayBeChannelsLast(const std::string& slot) {
  return slot == "ResidualData" || slot == "Output@GRAD" || slot == "Out" || slot == "Out@GRAD" || slot == "Y@GRAD";
}

bool AwareAccepts(const KernelSpec& spec) {
  const Op& op = *spec.op;
  if (spec.inputs.empty() || spec.outputs.empty()) return false;
  if (ops::ChannelsLast(op.GetString("data_format")) || ops::ChannelsLast(op.GetString("data_layout"))) return false;
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    const int slot = op.InputSlotOf(static_cast<int>(i));
    if (slot > 0 && IsChannelsLast(spec.inputs[i]) && !MayBeChannelsLast(op.def().inputs[slot].name)) return false;
  }
  if (IsChannelsLast(spec.outputs[0]) && op.def().outputs[op.OutputSlotOf(0)].name == "Filter@GRAD") return false;
  for (size_t i = 1; i < spec.outputs.size(); ++i) {
    if (op.OutputSlotOf(static_cast<int>(i)) > 0 && IsChannelsLast(spec.outputs[i])) return false;
  }
  return true;
}

// The operands in the first slot and the results in the first slot lie alike.
bool FirstSlotsAreAlike(const KernelSpec& spec) {
  const Layout layout = spec.inputs[0].layout;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.op->InputSlotOf(static_cast<int>(i)) == 0 && spec.inputs[i].layout != layout) return false;
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    if (spec.op->OutputSlotOf(static_cast<int>(i)) == 0 && spec.outputs[i].layout != layout) return false;
  }
  return true;
}

// The gradient of the result, which the gradient op of a normalisation reads, lies as operand 0 does.
bool FollowsGradient(const KernelSpec& spec) {
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    const std::string& slot = spec.op->def().inputs[spec.op->InputSlotOf(static_cast<int>(i))].name;
    if (slot == "Y@GRAD" && spec.inputs[i].layout != spec.inputs[0].layout) return false;
  }
  return true;
}

// Every float that may be a half is one, or none is.
bool AllStoredAlike(const KernelSpec& spec) {
  const auto as_float = [](const TensorDesc& t) { return t.storage() == DType::kF32; };
  return std::none_of(spec.inputs.begin(), spec.inputs.end(), as_float) && std::none_of(spec.outputs.begin(), spec.outputs.end(), as_float);
}

// The spec of an op that moves halves alone, with results that are halves, too.
KernelSpec InHalves(KernelSpec spec) {
  for (TensorDesc& t : spec.outputs) t.half = IsLowPrecision(t.dtype);
  return spec;
}

void ToMemoryOrder(std::vector<TensorDesc>* tensors) {
  for (TensorDesc& t : *tensors) {
    t.layout = Layout::kPlain;
    if (HasChannelsAndSpace(t)) std::rotate(t.dims.begin() + 1, t.dims.begin() + 2, t.dims.end());
  }
}

}  // namespace

DType StorageType(DType t) { return IsLowPrecision(t) ? DType::kF32 : t; }

int64_t TensorDesc::NumElements() const { return ampc::NumElements(dims).value_or(0); }

int64_t TensorDesc::StorageBytes() const { return NumElements() * static_cast<int64_t>(SizeOf(storage())); }

bool AcceptsLayouts(const KernelEntry& entry, const KernelSpec& spec) {
  if (AllPlain(spec)) return true;
  switch (entry.layouts) {
    case LayoutSupport::kPlainOnly: return false;
    case LayoutSupport::kElementwise: return ElementwiseAccepts(spec);
    case LayoutSupport::kConverts: return ChangesLayout(spec) || ElementwiseAccepts(spec);
    case LayoutSupport::kFollows: return AwareAccepts(spec) && FirstSlotsAreAlike(spec) && FollowsGradient(spec);
    case LayoutSupport::kAware: return AwareAccepts(spec);
  }
  return false;
}

namespace {

// The operands of a gradient op are not all held against the op that it is the gradient of: files of different versions declare them in
// different ways. If its kernel refuses it, the file is at fault.
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelEntry& entry, const KernelSpec& spec) {
  absl::StatusOr<std::unique_ptr<Kernel>> made = entry.make(spec);
  // On a device it may be a library that failed.
  if (ExitCodeOf(made.status()) != ExitCode::kInternal || !absl::EndsWith(entry.op, "_grad") || spec.device != nullptr) return made;
  return UnsupportedError(made.status().message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelEntry& entry, const KernelSpec& spec) {
  if (entry.make == nullptr) {
    return UnsupportedError(absl::StrCat(Describe(*spec.op), ": the shape of its result depends on data, which only a run can compute"));
  }
  if (HasHalves(spec) && (entry.halves == HalfSupport::kNone || (entry.halves == HalfSupport::kMoves && !AllStoredAlike(spec)))) {
    const KernelSpec in_halves = InHalves(spec);
    const bool moves_halves = entry.halves == HalfSupport::kMoves && AllStoredAlike(in_halves);
    const KernelSpec made = moves_halves ? in_halves : InFloats(spec);
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, MakeKernel(entry, made));
    return MakeConverted(std::move(kernel), made, spec);
  }
  if (AllPlain(spec)) return Make(entry, spec);
  if (!AcceptsLayouts(entry, spec)) {
    return InternalError(absl::StrCat(Describe(*spec.op), ": planned with channels-last tensors that its kernel does not take"));
  }
  if (!GivenInMemoryOrder(entry, spec)) return Make(entry, spec);
  KernelSpec in_memory_order = Aligned(spec);
  ToMemoryOrder(&in_memory_order.inputs);
  ToMemoryOrder(&in_memory_order.outputs);
  return Make(entry, in_memory_order);
}

absl::Status KernelRegistry::Add(KernelEntry entry) {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), entry.op, [](const KernelEntry& e, const std::string& op) { return e.op < op; });
  if (at != entries_.end() && at->op == entry.op) return InternalError(absl::StrCat("two kernels are registered for op '", entry.op, "'"));
  entries_.insert(at, std::move(entry));
  return absl::OkStatus();
}

const KernelEntry* KernelRegistry::Find(absl::string_view op) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), op, [](const KernelEntry& e, absl::string_view name) { return e.op < name; });
  return at != entries_.end() && at->op == op ? &*at : nullptr;
}

std::vector<const KernelEntry*> KernelRegistry::All() const {
  std::vector<const KernelEntry*> all;
  for (const KernelEntry& entry : entries_) all.push_back(&entry);
  return all;
}

}  // namespace ampc
