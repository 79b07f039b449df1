#include "passes/autodiff/append_backward.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "graph/ops/gradients.h"
#include "passes/append_op.h"
#include "passes/autodiff/gradient_flow.h"
#include "passes/autodiff/special_gradients.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr absl::string_view kSuffix = "@GRAD";

absl::Status CheckLoss(const Var& loss) {
  if (loss.type.IsFloat() && loss.type.kind == TypeKind::kTensor && loss.type.NumElements() == 1) return absl::OkStatus();
  return UsageError(absl::StrCat("the loss '", loss.name(), "' is ", ToString(loss.type), ", needs one floating-point element"));
}

class Backward {
 public:
  Backward(Program& program, GradientFlow flow)
      : block_(program.main()), flow_(std::move(flow)), first_new_(program.num_var_ids()), parts_(program.num_var_ids()) {}

  absl::StatusOr<std::vector<VarGradient>> FromLoss(Var& loss) {
    if (!flow_.Passes(loss))
      return UsageError(absl::StrCat("the loss '", loss.name(), "' depends on no variable whose gradient is wanted"));
    const std::vector<Op*> ops = flow_.OpsToward({&loss});
    if (!ops.empty()) {
      Op& last = *ops.front();  // the one that computes the loss
      last.SetAttr("op_role", RoleOf(last) | kRoleLoss);
    }
    AMPC_RETURN_IF_ERROR(Start(loss));
    return Run(ops);
  }

  absl::StatusOr<std::vector<VarGradient>> FromSeeds(absl::Span<const VarGradient> seeds) {
    std::vector<const Var*> ends;
    for (const VarGradient& seed : seeds) {
      ends.push_back(seed.var);
      parts_[seed.var->id()].push_back(seed.gradient);
      order_.push_back(seed.var);
    }
    return Run(flow_.OpsToward(ends));
  }

 private:
  absl::StatusOr<std::vector<VarGradient>> Run(absl::Span<Op* const> ops) {
    for (Op* op : ops) AMPC_RETURN_IF_ERROR(Differentiate(*op));
    std::vector<bool> wanted(first_new_, false);
    for (const Var* source : flow_.sources()) wanted[source->id()] = true;
    // As Paddle does: what is left to add up, in the order in which first parts came.
    for (const Var* var : order_) {
      if (wanted[var->id()]) AMPC_RETURN_IF_ERROR(GradientOf(*var).status());
    }
    std::vector<VarGradient> out;
    for (Var* var : flow_.sources()) {
      AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOf(*var));
      out.push_back({var, gradient});
    }
    return out;
  }

  absl::Status Start(const Var& loss) {
    AMPC_ASSIGN_OR_RETURN(Op * op, Append("fill_constant", nullptr));
    op->SetAttr("shape", std::vector<int64_t>(loss.type.dims.begin(), loss.type.dims.end()));
    op->SetAttr("value", 1.0f);
    op->SetAttr("dtype", loss.type.dtype);
    op->SetAttr("op_role", kRoleBackward | kRoleLoss);
    op->SetOutputs(op->def().OutputSlot("Out"), {NewPart(loss)});
    return absl::OkStatus();
  }

  absl::StatusOr<Op*> Append(absl::string_view type, const Op* forward) {
    const OpDef* def = Ops().Find(type);
    if (def == nullptr) {
      return UnsupportedError(
          absl::StrCat(forward == nullptr ? "the gradient" : Describe(*forward), ": there is no op '", type, "' to compute it"));
    }
    Op* op = block_.Append(block_.NewOp(def));
    op->SetAttr("op_role", int32_t{kRoleBackward});
    if (forward != nullptr) op->marks.guard = forward->marks.guard;
    return op;
  }

  // A name that a part gave up is free again.
  std::string FreeName(std::string name) const { return block_.FindVar(name) == nullptr ? name : block_.UniqueName(name); }

  Var* NewGradient(const Var& var, absl::string_view suffix) {
    return block_.AddVar(FreeName(absl::StrCat(var.name(), kSuffix, suffix)), VarKind::kTemp, var.type);
  }

  // One more part of the gradient of `var`. A single part is the gradient; several are told apart by Paddle's names.
  Var* NewPart(const Var& var) {
    std::vector<Var*>& parts = parts_[var.id()];
    if (parts.empty()) order_.push_back(&var);
    if (parts.size() == 1 && parts[0]->id() >= first_new_)
      block_.RenameVar(parts[0], FreeName(absl::StrCat(var.name(), kSuffix, PartSuffix(0))));
    Var* part = NewGradient(var, parts.empty() ? "" : PartSuffix(parts.size()));
    parts.push_back(part);
    return part;
  }

  static std::string PartSuffix(size_t i) { return absl::StrCat("@RENAME@block0@", i); }

  // The gradients of `var` so far, added up; null for none.
  absl::StatusOr<Var*> GradientOf(const Var& var) {
    if (var.id() >= static_cast<int>(parts_.size()) || parts_[var.id()].empty()) return nullptr;
    std::vector<Var*>& parts = parts_[var.id()];
    if (parts.size() == 1) return parts[0];
    AMPC_ASSIGN_OR_RETURN(Op * sum, Append("sum", nullptr));
    sum->SetInputs(sum->def().InputSlot("X"), parts);
    Var* total = NewGradient(var, "");
    sum->SetOutputs(sum->def().OutputSlot("Out"), {total});
    parts = {total};
    return total;
  }

  // Zeros for a result that does not reach the loss while another result of the same op does.
  absl::StatusOr<Var*> GradientOrZeros(Var& result, const Op& forward) {
    AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOf(result));
    if (gradient != nullptr) return gradient;
    AMPC_ASSIGN_OR_RETURN(Op * zeros, Append("fill_zeros_like", &forward));
    zeros->SetInputs(zeros->def().InputSlot("X"), {&result});
    zeros->SetOutputs(zeros->def().OutputSlot("Out"), {NewPart(result)});
    return parts_[result.id()][0];
  }

  absl::Status Differentiate(Op& op) {
    const std::string& gradient = op.def().gradient;
    const auto refuse = [&op](absl::string_view why) {
      return UnsupportedError(
          absl::StrCat(Describe(op), " lies between a value whose gradient is wanted and the loss and has no gradient: ", why));
    };
    if (op.def().opaque) return refuse("no record describes this op");
    if (absl::StartsWith(gradient, "none: ")) return refuse(absl::StripPrefix(gradient, "none: "));
    if (!op.SubBlocks().empty()) return refuse("it runs another block");
    for (const Var* result : op.outputs()) {
      if (result->kind == VarKind::kCarry) return refuse(absl::StrCat("it overwrites '", result->name(), "', which control flow uses"));
    }
    return HasSpecialGradient(op) ? DifferentiateSpecial(op) : DifferentiateByRecord(op);
  }

  absl::Status DifferentiateSpecial(Op& op) {
    std::vector<Var*> gradients;
    for (Var* result : op.outputs()) {
      AMPC_ASSIGN_OR_RETURN(Var * gradient, PairsOperandsWithResults(op) ? GradientOf(*result) : GradientOrZeros(*result, op));
      gradients.push_back(gradient);
    }
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const Var& operand = *op.inputs()[i];
      if (!flow_.Passes(operand) || (PairsOperandsWithResults(op) && gradients[i] == nullptr)) continue;
      SpecialGradient special = SpecialGradientOf(op, gradients, static_cast<int>(i));
      AMPC_ASSIGN_OR_RETURN(Op * out, Append(std::string(ops::GradientOpName(op.def())), &op));
      for (const auto& [slot, vars] : special.inputs) out->SetInputs(out->def().InputSlot(slot), vars);
      for (Attr& attr : special.attrs) out->SetAttr(attr.name, std::move(attr.value));
      out->SetOutputs(0, {NewPart(operand)});
    }
    return absl::OkStatus();
  }

  // Slots of the gradient op are named after those of the forward op; see graph/ops/gradients.h.
  absl::Status DifferentiateByRecord(Op& op) {
    const OpDef* def = Ops().Find(op.def().gradient);
    if (def == nullptr)
      return UnsupportedError(absl::StrCat(Describe(op), ": there is no op '", op.def().gradient, "' to compute its gradient"));
    AMPC_RETURN_IF_ERROR(CheckWays(op, *def));
    std::vector<std::vector<Var*>> operands;
    for (const SlotDef& slot : def->inputs) {
      AMPC_ASSIGN_OR_RETURN(std::vector<Var*> vars, OperandsFor(op, *def, slot));
      operands.push_back(std::move(vars));
    }
    AMPC_ASSIGN_OR_RETURN(Op * out, Append(def->name, &op));
    for (size_t s = 0; s < operands.size(); ++s) out->SetInputs(static_cast<int>(s), operands[s]);
    for (const Attr& attr : op.attrs()) {
      if (attr.name != "op_role" && attr.name != "op_role_var" && def->FindAttr(attr.name) != nullptr) out->SetAttr(attr.name, attr.value);
    }
    for (size_t s = 0; s < def->outputs.size(); ++s) {
      const absl::Span<Var* const> vars = op.inputs(op.def().InputSlot(absl::StripSuffix(def->outputs[s].name, kSuffix)));
      if (std::none_of(vars.begin(), vars.end(), [this](const Var* v) { return flow_.Passes(*v); })) continue;
      std::vector<Var*> results;
      // A list has no holes: what nobody wants of it is computed beside the rest.
      for (Var* v : vars) results.push_back(flow_.Passes(*v) ? NewPart(*v) : NewGradient(*v, ""));
      out->SetOutputs(static_cast<int>(s), results);
    }
    return absl::OkStatus();
  }

  // Gradients come in through the results that the gradient op asks for and go out through the operands that it gives, through no others.
  absl::Status CheckWays(const Op& op, const OpDef& gradient) const {
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const Var& operand = *op.inputs()[i];
      const std::string& slot = op.def().inputs[op.InputSlotOf(static_cast<int>(i))].name;
      if (!flow_.Passes(operand) || gradient.OutputSlot(absl::StrCat(slot, kSuffix)) >= 0) continue;
      return UnsupportedError(absl::StrCat(Describe(op), ": a gradient is wanted for its operand '", operand.name(), "' (", slot, "); '",
                                           gradient.name, "' does not compute it"));
    }
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      const Var& result = *op.outputs()[i];
      const std::string& slot = op.def().outputs[op.OutputSlotOf(static_cast<int>(i))].name;
      if (result.id() >= first_new_ || parts_[result.id()].empty() || gradient.InputSlot(absl::StrCat(slot, kSuffix)) >= 0) continue;
      return UnsupportedError(absl::StrCat(Describe(op), ": its result '", result.name(), "' (", slot, ") lies on the way to the loss; '",
                                           gradient.name, "' has no gradient for it"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Var*>> OperandsFor(Op& op, const OpDef& gradient, const SlotDef& slot) {
    std::vector<Var*> vars;
    if (absl::EndsWith(slot.name, kSuffix)) {
      for (Var* result : op.outputs(op.def().OutputSlot(absl::StripSuffix(slot.name, kSuffix)))) {
        AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOrZeros(*result, op));
        vars.push_back(gradient);
      }
      return vars;
    }
    const int input = op.def().InputSlot(slot.name), output = op.def().OutputSlot(slot.name);
    if (input < 0 && op.outputs(output).empty()) {
      const OpDef* forward = ops::ForwardOf(gradient.name);
      if (forward != nullptr && !ops::IsReadIfThere(*forward->gradient_slots, slot.name)) AMPC_RETURN_IF_ERROR(AddResult(op, output));
    }
    const absl::Span<Var* const> from = input >= 0 ? op.inputs(input) : op.outputs(output);
    for (const Var* var : from) {
      if (input >= 0 && flow_.IsOverwrittenAfter(op, *var)) {
        return UnsupportedError(absl::StrCat(Describe(op), ": its gradient reads '", var->name(), "', which a later op overwrites"));
      }
    }
    return std::vector<Var*>(from.begin(), from.end());
  }

  // An optional result that the gradient reads and nobody asked for: XShape, Mean, Mask.
  absl::Status AddResult(Op& op, int slot) {
    const std::string base =
        absl::StrCat(op.outputs().empty() ? op.type() : op.outputs()[0]->name(), ".", absl::AsciiStrToLower(op.def().outputs[slot].name));
    Var* var = block_.AddVar(block_.UniqueName(base), VarKind::kTemp, TensorType::Unranked(DType::kInvalid));
    var->stop_gradient = true;
    op.SetOutputs(slot, {var});
    AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(op, TypeEnv()));
    for (size_t i = 0; i < types.size(); ++i) {
      if (op.outputs()[i] == var && types[i].has_value()) var->type = *types[i];
    }
    return absl::OkStatus();
  }

  Block& block_;
  const GradientFlow flow_;
  const int first_new_;                   // Var::id from which on variables were made here
  std::vector<std::vector<Var*>> parts_;  // by Var::id of variables that were there before: the gradients to be added up
  std::vector<const Var*> order_;         // variables with parts, by their first one
};

}  // namespace

absl::StatusOr<std::vector<VarGradient>> AppendBackward(Program& program, Var& loss, const BackwardOptions& options) {
  AMPC_RETURN_IF_ERROR(CheckLoss(loss));
  AMPC_ASSIGN_OR_RETURN(GradientFlow flow, GradientFlow::Find(program, options.wanted, options.no_grad));
  return Backward(program, std::move(flow)).FromLoss(loss);
}

absl::StatusOr<std::vector<VarGradient>> AppendGradients(Program& program, absl::Span<const VarGradient> seeds,
                                                         const BackwardOptions& options) {
  AMPC_ASSIGN_OR_RETURN(GradientFlow flow, GradientFlow::Find(program, options.wanted, options.no_grad));
  return Backward(program, std::move(flow)).FromSeeds(seeds);
}

PassInfo AppendBackwardPass() {
  PassInfo info{"append-backward", "appends the ops that compute the gradient of a loss; the gradients become fetches", {}, nullptr};
  info.options = {{"loss", "the value to differentiate"},
                  {"wanted", "params and feeds; all trainable params without it"},
                  {"no_grad", "values that gradients do not pass"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    const auto loss = options.find("loss");
    if (loss == options.end()) return UsageError("append-backward needs the option loss, the name of the value to differentiate");
    return MakePass([name = loss->second, backward = BackwardOptions{ListOption(options, "wanted"), ListOption(options, "no_grad")}](
                        PassContext&, Program& program) -> absl::StatusOr<bool> {
      Var* var = program.main().FindVar(name);
      if (var == nullptr) return UsageError(absl::StrCat("append-backward: the program has no variable '", name, "'"));
      AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(program, *var, backward));
      for (const VarGradient& g : gradients) {
        if (g.gradient != nullptr) program.fetches.push_back(g.gradient);
      }
      return true;
    });
  };
  return info;
}

}  // namespace ampc
