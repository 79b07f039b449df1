// OpDef: the single record of an op. Everything the compiler knows about an op is here and nowhere else.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/amp_class.h"
#include "graph/attr.h"
#include "graph/op_slot.h"
#include "graph/op_trait.h"

namespace ampc {

class InferContext;
class Op;

struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written once
};

using InferFn = absl::Status (*)(InferContext& ctx);
using VerifyFn = absl::Status (*)(const Op& op);
// Reads operand and result types of `op`; unknown dimensions count as 1.
using CostFn = Cost (*)(const Op& op);
// An op whose class depends on an attribute.
using AmpClassFn = AmpClass (*)(const Op& op);
// The bounds of the results from those of the operands that compute, in order: what only says where or how is left out. `in` is not empty.
using BoundsFn = Bounds (*)(const Op& op, absl::Span<const Bounds> in);

// Which values the gradient op reads and gives, by the slots of its forward op; several names are separated by blanks.
struct GradientSlots {
  // Operands and results of the forward op that are read. An optional result that the forward op lacks is added to it by append-backward,
  // but not where the name ends in `?`: that is read where the forward op has it. A gradient op made by others may do without either.
  std::string needs;
  std::string of;     // results whose gradient is read, as slot `<result>@GRAD`
  std::string gives;  // operands whose gradient is computed, as slot `<operand>@GRAD`; each is optional
  // The slot whose type the gradient of an operand has that is not read itself; without it what XShape remembers, else the first of `of`.
  std::string like = {};
  InferFn infer = nullptr;  // instead of those rules
};

struct OpDef {
  std::string name;
  std::string operator_name;  // what its file calls it, for messages: "Conv" for onnx.Conv.11
  std::string doc;
  std::vector<SlotDef> inputs;
  std::vector<SlotDef> outputs;
  std::vector<AttrDef> attrs;
  InferFn infer = nullptr;
  VerifyFn verify = nullptr;  // what inference does not check; may be null
  CostFn cost = nullptr;
  AmpClass amp = AmpClass::kNever;
  AmpClassFn amp_when = nullptr;  // refines `amp` by attribute; may be null
  std::string amp_reason;
  std::string gradient;                         // name of the gradient op, or "none: reason"
  std::optional<GradientSlots> gradient_slots;  // the gradient op is made from this record and has its own attributes
  uint32_t traits = 0;                          // a sum of OpTrait
  BoundsFn bounds = nullptr;                    // null: nothing is known of the results
  WeightUse weight_use = WeightUse::kNone;
  bool low_on_cuda = true;        // CUDA computes it in f16 and bf16; the CPU computes in them whatever it computes
  bool fused_activation = false;  // a convolution or product may apply it to its result
  bool fused_step = false;        // fused_elementwise may contain it (graph/ops/fused_steps.h)
  bool opaque = false;            // no record: carried, not executed, never low
  bool pure = true;               // same inputs, same outputs, no effect: may be folded, shared or dropped
  std::vector<std::pair<std::string, std::string>> aliases;  // {format, op type}: the same op elsewhere

  // Index of a slot or attribute by name, -1 for none.
  int InputSlot(absl::string_view slot) const;
  int OutputSlot(absl::string_view slot) const;
  const AttrDef* FindAttr(absl::string_view attr) const;
  bool HasTrait(OpTrait trait) const { return (traits & static_cast<uint32_t>(trait)) != 0; }

  // Fluent construction, used by graph/ops/*.cc.
  explicit OpDef(std::string op_name) : name(std::move(op_name)), operator_name(name) {}
  OpDef& Doc(std::string text);
  OpDef& In(std::string slot, SlotPrecision p = SlotPrecision::kFollow);
  OpDef& OptIn(std::string slot, SlotPrecision p = SlotPrecision::kFollow);
  OpDef& VarIn(std::string slot, SlotPrecision p = SlotPrecision::kFollow);     // one or more
  OpDef& OptVarIn(std::string slot, SlotPrecision p = SlotPrecision::kFollow);  // any number
  OpDef& HostIn(std::string slot);                                              // optional shape or axis tensor, read by inference
  OpDef& HostVarIn(std::string slot);                                           // optional list of one-element tensors, read by inference
  OpDef& Out(std::string slot, SlotPrecision p = SlotPrecision::kFollow);
  OpDef& OptOut(std::string slot, SlotPrecision p = SlotPrecision::kFollow);
  OpDef& VarOut(std::string slot, SlotPrecision p = SlotPrecision::kFollow);
  OpDef& StateOut(std::string slot);                  // optional result that may overwrite state; stays as it is
  OpDef& A(std::string attr, AttrValue value);        // attribute with default
  OpDef& Required(std::string attr, AttrValue type);  // attribute without default
  OpDef& DTypeAttr(std::string attr, DType value, bool retarget = true);
  OpDef& Extra(std::string attr, AttrValue value);
  OpDef& Infer(InferFn fn);
  OpDef& Verify(VerifyFn fn);
  OpDef& CostIs(CostFn fn);
  OpDef& Amp(AmpClass c, std::string reason);
  OpDef& AmpWhen(AmpClassFn fn);
  OpDef& Gradient(std::string op_or_none);
  // An op <name>_grad with the slots `slots`.
  OpDef& GradientOp(GradientSlots slots);
  OpDef& Traits(std::initializer_list<OpTrait> some);  // beside those that it has
  OpDef& BoundsAre(BoundsFn fn);
  OpDef& Weights(WeightUse use);
  OpDef& Use(AttrUse use);  // of the attribute added last
  OpDef& NotLowOnCuda();
  OpDef& FusedActivation();
  OpDef& FusedStep(bool may_be = true);
  OpDef& Impure();
  OpDef& Alias(std::string format, std::string type);
};

}  // namespace ampc
