#include "passes/amp/protect/stored_losses.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "graph/base/host_values.h"
#include "graph/low_range.h"
#include "graph/op_record.h"
#include "passes/amp/decide/decision.h"

namespace ampc {
namespace {

constexpr uint64_t kWindow = 16384;                    // elements looked at at once
constexpr uint64_t kReleaseBytes = uint64_t{4} << 20;  // of a file: not kept in memory

// The bytes of a weight stored as f32.
absl::Span<const char> StoredFloats(const Var& var) {
  const WeightRef* ref = var.weight.get();
  if (ref == nullptr || ref->source == nullptr || ref->dtype != DType::kF32) return {};
  const absl::Span<const char> all = ref->source->bytes();
  return ref->offset > all.size() || ref->bytes > all.size() - ref->offset ? absl::Span<const char>()
                                                                           : all.subspan(ref->offset, ref->bytes);
}

// Values beyond the range.
LostValue Overflow(absl::Span<const char> bytes, DType low) {
  const uint64_t count = bytes.size() / sizeof(float);
  WeightTransform keep;
  keep.to = low;
  keep.on_overflow = OnOverflow::kKeep;
  WeightDamage damage;
  std::array<float, kWindow> window;
  LostValue lost;
  for (uint64_t first = 0; first < count && lost.loss == Loss::kNone; first += kWindow) {
    const uint64_t n = std::min(kWindow, count - first);
    const uint64_t beyond = AdjustToLow(bytes.data() + first * sizeof(float), n, keep, window.data(), &damage);
    if (beyond < n) lost = {Loss::kOverflows, window[beyond]};
  }
  return lost;
}

// Calls see(window) for the values in their order until it returns true; whether it did.
template <typename See>
bool AnyWindow(absl::Span<const char> bytes, const See& see) {
  const uint64_t count = bytes.size() / sizeof(float);
  std::array<float, kWindow> window;
  for (uint64_t first = 0; first < count; first += kWindow) {
    const uint64_t n = std::min(kWindow, count - first);
    std::memcpy(window.data(), bytes.data() + first * sizeof(float), n * sizeof(float));
    if (see(absl::MakeConstSpan(window.data(), n))) return true;
  }
  return false;
}

// Of a weight of ordinary size the first window is enough.
LostValue Vanishing(absl::Span<const char> bytes, DType low, OnTiny on_tiny) {
  ShareLost share(low, on_tiny, bytes.size() / sizeof(float));
  if (AnyWindow(bytes, [&](absl::Span<const float> values) { return share.Enough(values); })) return {};
  AnyWindow(bytes, [&](absl::Span<const float> values) {
    share.Add(values);
    return false;
  });
  return share.Result();
}

void ReleaseLarge(const Var& var, absl::Span<const char> bytes) {
  if (bytes.size() >= kReleaseBytes) var.weight->source->Release(var.weight->offset, var.weight->bytes);
}

LostValue LossOfVar(const Var& var, DType low, OnTiny on_tiny, bool overflow_counts) {
  if (var.literal != nullptr && !IsRetyped(var)) return LossOf(*var.literal, low, on_tiny);
  if (var.type.NumElements() == 1 || var.kind == VarKind::kConst) {
    const std::vector<float> values = OriginalFloats(var);
    return LossOf(values, low, on_tiny);
  }
  const absl::Span<const char> bytes = StoredFloats(var);
  LostValue lost = overflow_counts ? Overflow(bytes, low) : LostValue();
  if (lost.loss == Loss::kNone) lost = Vanishing(bytes, low, on_tiny);
  ReleaseLarge(var, bytes);
  return lost;
}

}  // namespace

std::vector<float> OriginalFloats(const Var& var, int64_t most) {
  std::vector<float> out;
  const absl::Span<const char> bytes = StoredFloats(var);
  if (var.literal != nullptr && bytes.empty()) {
    const HostTensor& value = *var.literal;
    if (value.num_elements() > most) return out;
    return FloatsOf(value).value_or(out);  // of a narrowed literal what is left of the original
  }
  const size_t count = bytes.size() / sizeof(float);
  if (count == 0 || count > static_cast<size_t>(most)) return out;
  out.resize(count);
  std::memcpy(out.data(), bytes.data(), count * sizeof(float));
  return out;
}

int64_t StoredElements(const Var& var) {
  const int64_t stored = static_cast<int64_t>(StoredFloats(var).size() / sizeof(float));
  if (stored > 0) return stored;
  return var.literal != nullptr && var.literal->dtype() == DType::kF32 ? var.literal->num_elements() : 0;
}

void ForEachStored(const Var& var, absl::FunctionRef<void(absl::Span<const float>)> see) {
  const absl::Span<const char> bytes = StoredFloats(var);
  AnyWindow(bytes, [&see](absl::Span<const float> values) {
    see(values);
    return false;
  });
  if (bytes.empty() && var.literal != nullptr && var.literal->dtype() == DType::kF32) see(var.literal->values<float>());
  ReleaseLarge(var, bytes);
}

std::vector<LostValue> LossesOfStored(const Program& program, const CastRoots& roots, DType low, OnTiny on_tiny) {
  std::vector<bool> wanted(program.num_var_ids(), false);
  ForEachOp(program, [&](const Op& op) {
    const AmpClass amp = AmpClassOf(op);
    if (IsInserted(op) || IsCast(op) || op.def().opaque || amp == AmpClass::kAllow || amp == AmpClass::kNever) return;
    for (const Var* var : op.inputs()) wanted[roots.Root(*var).id()] = true;
  });
  std::vector<LostValue> losses(program.num_var_ids());
  ForEachVar(program, [&](const Var& var) {
    if (!IsStored(var) || !var.type.IsFloat()) return;
    losses[var.id()] = LossOfVar(var, low, on_tiny, wanted[var.id()]);
  });
  return losses;
}

}  // namespace ampc
