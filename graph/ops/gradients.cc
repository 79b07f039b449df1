#include "graph/ops/gradients.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/host_tensor.h"
#include "graph/op_registry.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/program.h"

namespace ampc::ops {
namespace {

// The type of the gradient of forward operand `slot`; `slots` say where it comes from.
TensorType GradientType(const InferContext& ctx, const GradientSlots& slots, absl::string_view slot, int i) {
  if (ctx.Has(slot)) return ctx.In(slot, i);
  if (!slots.like.empty()) return ctx.Has(slots.like) ? ctx.In(slots.like) : TensorType::Unranked(DType::kInvalid);
  const absl::string_view of = slots.of;
  const std::string start = absl::StrCat(of.substr(0, of.find(' ')), "@GRAD");
  if (!ctx.Has(start)) return TensorType::Unranked(DType::kInvalid);
  TensorType type = ctx.In(start);
  if (!ctx.Has("XShape")) return type;
  const TensorType& shape = ctx.In("XShape");
  if (!shape.has_rank || shape.rank() == 0) return TensorType::Unranked(type.dtype);
  return TensorType(type.dtype, Dims(shape.dims.begin() + 1, shape.dims.end()));
}

// The types that CheckForward gives the forward op's operands.
class ForwardTypes final : public TypeEnv {
 public:
  bool PlansMemory() const override { return true; }
};

// The operand of the gradient op in that place, with its value where it determines shapes and is known.
Var* CopyOperand(const InferContext& ctx, const SlotDef& slot, int i, Block& block) {
  Var* copy = block.AddVar(block.UniqueName(slot.name), VarKind::kTemp, ctx.In(slot.name, i));
  if (!slot.host_value || !copy->type.IsStatic()) return copy;
  const std::optional<std::vector<int64_t>> ints = ctx.Ints(slot.name, i);
  if (!ints.has_value() || static_cast<int64_t>(ints->size()) != copy->type.NumElements()) return copy;
  copy->type.dtype = DType::kI64;
  copy->literal = std::make_shared<const HostTensor>(HostTensor::FromValues<int64_t>(copy->type.dims, *ints));
  return copy;
}

// The forward op, alone in a program, on the operands that the gradient op reads; one that it computes the gradient of only is like that
// gradient (unless the slots have an inference of its own, which says otherwise), and statistics are like Scale. False where it needs
// another one.
bool MakeForward(const InferContext& ctx, const GradientSlots& slots, Block& block, Op* forward) {
  for (size_t s = 0; s < forward->def().inputs.size(); ++s) {
    const SlotDef& slot = forward->def().inputs[s];
    std::vector<Var*> operands;
    const int count = ctx.op().def().InputSlot(slot.name) < 0 ? 0 : ctx.Count(slot.name);
    for (int i = 0; i < count; ++i) operands.push_back(CopyOperand(ctx, slot, i, block));
    if (operands.empty() && !slot.optional) {
      const bool given = ctx.op().def().OutputSlot(slot.name + "@GRAD") >= 0;
      if (given && slots.infer != nullptr) return false;
      if (!given && !(ctx.op().def().InputSlot("Scale") >= 0 && ctx.Has("Scale"))) return false;
      TensorType type = given ? GradientType(ctx, slots, slot.name, 0) : ctx.In("Scale");
      operands.push_back(block.AddVar(block.UniqueName(slot.name), VarKind::kTemp, std::move(type)));
    }
    forward->SetInputs(static_cast<int>(s), operands);
  }
  for (size_t s = 0; s < forward->def().outputs.size(); ++s) {
    const std::string& name = forward->def().outputs[s].name;
    const std::string& shown = ctx.op().outputs()[0]->name();  // messages name the gradient op by its result
    std::vector<Var*> results = {block.AddVar(block.UniqueName(s == 0 ? shown : name), VarKind::kTemp, TensorType())};
    const int count = ctx.op().def().InputSlot(name + "@GRAD") < 0 ? 1 : ctx.Count(name + "@GRAD");
    for (int i = 1; i < count; ++i) results.push_back(block.AddVar(block.UniqueName(name), VarKind::kTemp, TensorType()));
    forward->SetOutputs(static_cast<int>(s), results);
  }
  for (const Attr& attr : ctx.op().attrs()) forward->SetAttr(attr.name, attr.value);
  return true;
}

// As many elements, where both are counted; the dims themselves, where there are as many.
bool SameDims(const TensorType& a, const TensorType& b) {
  if (!a.has_rank || !b.has_rank) return true;
  if (a.rank() != b.rank()) return !Differ(Product(a.dims), Product(b.dims));
  for (int i = 0; i < a.rank(); ++i) {
    if (Differ(a.dims[i], b.dims[i])) return false;
  }
  return true;
}

// Holds the results that the gradient op reads, and their gradients, against the forward op's inference, so that no kernel reads behind an
// operand. Only where memory is planned: files of different versions declare open dims and statistics in ways that a run never sees.
absl::Status CheckForward(const InferContext& ctx, const OpDef& def) {
  if (!ctx.PlansMemory()) return absl::OkStatus();
  Program program("forward");
  const std::unique_ptr<Op> forward = program.main().NewOp(&def);
  if (!MakeForward(ctx, *def.gradient_slots, program.main(), forward.get())) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(*forward, ForwardTypes()));
  for (size_t s = 0, flat = 0; s < def.outputs.size(); flat += forward->outputs(static_cast<int>(s)).size(), ++s) {
    for (const std::string& slot : {def.outputs[s].name, def.outputs[s].name + "@GRAD"}) {
      const int count = ctx.op().def().InputSlot(slot) < 0 ? 0 : ctx.Count(slot);
      for (int i = 0; i < count && i < static_cast<int>(forward->outputs(static_cast<int>(s)).size()); ++i) {
        const std::optional<TensorType>& want = types[flat + static_cast<size_t>(i)];
        if (!want.has_value() || SameDims(*want, ctx.In(slot, i))) continue;
        return Fail(ctx, 6, slot, " is ", ToString(ctx.In(slot, i)), ", ", def.name, " on these operands gives ", ToString(*want));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status InferGradient(InferContext& ctx) {
  const OpDef& forward = *ForwardOf(ctx.op().type());
  const GradientSlots& slots = *forward.gradient_slots;
  if (ctx.op().outputs().empty()) return Fail(ctx, 4, "has no result, needs one");
  if (ctx.Has("XShape") && ctx.In("XShape").has_rank && ctx.In("XShape").rank() == 0)
    return Fail(ctx, 5, "XShape has rank 0, needs a 0 and the dims of X");
  AMPC_RETURN_IF_ERROR(CheckForward(ctx, forward));
  if (slots.infer != nullptr) return slots.infer(ctx);
  for (const SlotDef& slot : ctx.op().def().outputs) {
    const absl::string_view operand = absl::StripSuffix(slot.name, "@GRAD");
    for (int i = 0; i < ctx.NumOut(slot.name); ++i) {
      if (ctx.Has(operand) && i >= ctx.Count(operand)) return Fail(ctx, 1, slot.name, " has more results than ", operand, " operands");
      ctx.Out(slot.name, i, GradientType(ctx, slots, operand, i));
    }
  }
  return absl::OkStatus();
}

// The slots named in `names`, with `suffix`. A family may name slots that only some of its ops have.
void AddSlots(const OpDef& forward, absl::string_view names, absl::string_view suffix, std::vector<SlotDef>& to) {
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    const bool optional = absl::ConsumeSuffix(&name, "?");
    const int input = forward.InputSlot(name), output = forward.OutputSlot(name);
    if (input < 0 && output < 0) continue;
    SlotDef slot = input >= 0 ? forward.inputs[input] : forward.outputs[output];
    absl::StrAppend(&slot.name, suffix);
    slot.optional = slot.optional || optional;
    slot.precision = kAsIs;
    slot.overwrites = false;
    to.push_back(std::move(slot));
  }
}

}  // namespace

absl::string_view GradientOpName(const OpDef& forward) {
  const absl::string_view gradient = forward.gradient;
  return gradient.substr(0, gradient.find(' '));
}

const OpDef* ForwardOf(absl::string_view gradient_op) {
  if (!absl::ConsumeSuffix(&gradient_op, "_grad")) return nullptr;
  const OpDef* forward = Ops().Find(gradient_op);
  return forward != nullptr && forward->gradient_slots.has_value() ? forward : nullptr;
}

bool IsReadIfThere(const GradientSlots& slots, absl::string_view slot) {
  const std::vector<absl::string_view> names = absl::StrSplit(slots.needs, ' ');
  return std::find(names.begin(), names.end(), absl::StrCat(slot, "?")) != names.end();
}

OpDef GradientOf(const OpDef& forward) {
  const GradientSlots& slots = *forward.gradient_slots;
  OpDef def(forward.gradient);
  def.Doc(absl::StrCat("The gradient of ", forward.name, "."));
  AddSlots(forward, slots.needs, "", def.inputs);
  AddSlots(forward, slots.of, "@GRAD", def.inputs);
  AddSlots(forward, slots.gives, "@GRAD", def.outputs);
  for (SlotDef& slot : def.outputs) slot.optional = true;
  def.attrs = forward.attrs;
  for (AttrDef& attr : def.attrs) {
    attr.retarget = false;
    attr.use = AttrUse::kNone;
  }
  def.pure = true;
  // One derivative of one operand. A derivative that reads nothing is 0: its kernel fills.
  def.fused_step = forward.fused_step && slots.gives == "X" && !slots.needs.empty();
  return def.Infer(InferGradient)
      .CostIs(PerOperand<2>)
      .Amp(kNever, "made after the forward pass was decided; takes the types of the values whose gradient it computes")
      .Gradient("none: a gradient is not differentiated again");
}

}  // namespace ampc::ops
