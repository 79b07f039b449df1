#include "graph/op_def.h"

namespace ampc {
namespace {

int IndexOf(const std::vector<SlotDef>& slots, absl::string_view name) {
  for (size_t i = 0; i < slots.size(); ++i) {
    // Most names are a letter or two: the first one is compared before a call is made.
    const std::string& slot = slots[i].name;
    if (slot.size() == name.size() && (name.empty() || slot[0] == name[0]) && slot == name) return static_cast<int>(i);
  }
  return -1;
}

SlotDef MakeSlot(std::string name, bool optional, bool variadic, SlotPrecision precision) {
  SlotDef slot;
  slot.name = std::move(name);
  slot.optional = optional;
  slot.variadic = variadic;
  slot.precision = precision;
  return slot;
}

}  // namespace

absl::string_view Name(AmpClass c) {
  switch (c) {
    case AmpClass::kAllow: return "allow";
    case AmpClass::kInfer: return "infer";
    case AmpClass::kClear: return "clear";
    case AmpClass::kDeny: return "deny";
    case AmpClass::kWidest: return "widest";
    case AmpClass::kNever: return "never";
  }
  return "?";
}

int OpDef::InputSlot(absl::string_view slot) const { return IndexOf(inputs, slot); }
int OpDef::OutputSlot(absl::string_view slot) const { return IndexOf(outputs, slot); }

const AttrDef* OpDef::FindAttr(absl::string_view attr) const {
  for (const AttrDef& a : attrs) {
    if (a.name == attr) return &a;
  }
  return nullptr;
}

OpDef& OpDef::Doc(std::string text) {
  doc = std::move(text);
  return *this;
}

OpDef& OpDef::In(std::string slot, SlotPrecision p) {
  inputs.push_back(MakeSlot(std::move(slot), false, false, p));
  return *this;
}

OpDef& OpDef::OptIn(std::string slot, SlotPrecision p) {
  inputs.push_back(MakeSlot(std::move(slot), true, false, p));
  return *this;
}

OpDef& OpDef::VarIn(std::string slot, SlotPrecision p) {
  inputs.push_back(MakeSlot(std::move(slot), false, true, p));
  return *this;
}

OpDef& OpDef::OptVarIn(std::string slot, SlotPrecision p) {
  inputs.push_back(MakeSlot(std::move(slot), true, true, p));
  return *this;
}

OpDef& OpDef::HostIn(std::string slot) {
  OptIn(std::move(slot), SlotPrecision::kAsIs);
  inputs.back().host_value = true;
  return *this;
}

OpDef& OpDef::HostVarIn(std::string slot) {
  OptVarIn(std::move(slot), SlotPrecision::kAsIs);
  inputs.back().host_value = true;
  return *this;
}

OpDef& OpDef::Out(std::string slot, SlotPrecision p) {
  outputs.push_back(MakeSlot(std::move(slot), false, false, p));
  return *this;
}

OpDef& OpDef::OptOut(std::string slot, SlotPrecision p) {
  outputs.push_back(MakeSlot(std::move(slot), true, false, p));
  return *this;
}

OpDef& OpDef::VarOut(std::string slot, SlotPrecision p) {
  outputs.push_back(MakeSlot(std::move(slot), false, true, p));
  return *this;
}

OpDef& OpDef::StateOut(std::string slot) {
  OptOut(std::move(slot), SlotPrecision::kAsIs);
  outputs.back().overwrites = true;
  return *this;
}

OpDef& OpDef::A(std::string attr, AttrValue value) {
  attrs.push_back({std::move(attr), std::move(value)});
  return *this;
}

OpDef& OpDef::Required(std::string attr, AttrValue type) {
  attrs.push_back({std::move(attr), std::move(type)});
  attrs.back().required = true;
  return *this;
}

OpDef& OpDef::DTypeAttr(std::string attr, DType value, bool retarget) {
  attrs.push_back({std::move(attr), value});
  attrs.back().retarget = retarget;
  return *this;
}

OpDef& OpDef::Extra(std::string attr, AttrValue value) {
  attrs.push_back({std::move(attr), std::move(value)});
  attrs.back().extra = true;
  return *this;
}

OpDef& OpDef::Infer(InferFn fn) {
  infer = fn;
  return *this;
}

OpDef& OpDef::Verify(VerifyFn fn) {
  verify = fn;
  return *this;
}

OpDef& OpDef::CostIs(CostFn fn) {
  cost = fn;
  return *this;
}

OpDef& OpDef::Amp(AmpClass c, std::string reason) {
  amp = c;
  amp_reason = std::move(reason);
  return *this;
}

OpDef& OpDef::AmpWhen(AmpClassFn fn) {
  amp_when = fn;
  return *this;
}

OpDef& OpDef::Gradient(std::string op_or_none) {
  gradient = std::move(op_or_none);
  gradient_slots.reset();
  return *this;
}

OpDef& OpDef::GradientOp(GradientSlots slots) {
  gradient = name + "_grad";
  gradient_slots = std::move(slots);
  return *this;
}

OpDef& OpDef::Traits(std::initializer_list<OpTrait> some) {
  for (const OpTrait trait : some) traits |= static_cast<uint32_t>(trait);
  return *this;
}

OpDef& OpDef::BoundsAre(BoundsFn fn) {
  bounds = fn;
  return *this;
}

OpDef& OpDef::Weights(WeightUse use) {
  weight_use = use;
  return *this;
}

OpDef& OpDef::Use(AttrUse use) {
  attrs.back().use = use;
  return *this;
}

OpDef& OpDef::NotLowOnCuda() {
  low_on_cuda = false;
  return *this;
}

OpDef& OpDef::FusedActivation() {
  fused_activation = true;
  return *this;
}

OpDef& OpDef::FusedStep(bool may_be) {
  fused_step = may_be;
  return *this;
}

OpDef& OpDef::Impure() {
  pure = false;
  return *this;
}

OpDef& OpDef::Alias(std::string format, std::string type) {
  aliases.emplace_back(std::move(format), std::move(type));
  return *this;
}

}  // namespace ampc
