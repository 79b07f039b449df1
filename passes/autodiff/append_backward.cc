#include "passes/autodiff/append_backward.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/op_registry.h"
#include "passes/make_pass.h"
#include "passes/autodiff/special_gradients.h"

namespace ampc {
namespace {

constexpr absl::string_view kSuffix = "@GRAD";
constexpr int32_t kBackward = 1;  // Paddle's op_role
constexpr int32_t kLossRole = 256;

class Backward {
 public:
  explicit Backward(Program& program) : program_(program), block_(program.main()) {}

  absl::StatusOr<std::vector<VarGradient>> FromLoss(Var& loss, const BackwardOptions& options) {
    AMPC_RETURN_IF_ERROR(CheckLoss(loss));
    AMPC_RETURN_IF_ERROR(FindFlow(options));
    if (!flows_[loss.id()]) return UsageError(absl::StrCat("the loss '", loss.name(), "' depends on no variable whose gradient is wanted"));
    const std::vector<const Op*> ops = OpsToward({{&loss, nullptr}});
    gradients_.resize(program_.num_var_ids());
    AMPC_RETURN_IF_ERROR(Start(loss));
    return Run(ops);
  }

  absl::StatusOr<std::vector<VarGradient>> FromSeeds(absl::Span<const VarGradient> seeds, const BackwardOptions& options) {
    AMPC_RETURN_IF_ERROR(FindFlow(options));
    const std::vector<const Op*> ops = OpsToward(seeds);
    gradients_.resize(program_.num_var_ids());
    for (const VarGradient& seed : seeds) gradients_[seed.var->id()].push_back(seed.gradient);
    return Run(ops);
  }

 private:
  absl::StatusOr<std::vector<VarGradient>> Run(const std::vector<const Op*>& ops) {
    for (const Op* op : ops) AMPC_RETURN_IF_ERROR(Differentiate(*op));
    std::vector<VarGradient> out;
    for (Var* var : sources_) {
      AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOf(*var));
      out.push_back({var, gradient});
    }
    return out;
  }

  static absl::Status CheckLoss(const Var& loss) {
    if (!IsFloat(loss.type.dtype) || loss.type.NumElements() != 1) {
      return UsageError(absl::StrCat("the loss '", loss.name(), "' is ", ToString(loss.type), ", needs one floating-point element"));
    }
    return absl::OkStatus();
  }

  // Where gradients end, and where they must not pass.
  absl::Status FindSources(const BackwardOptions& options) {
    flows_.assign(program_.num_var_ids(), false);
    blocked_.assign(program_.num_var_ids(), false);
    for (const std::string& name : options.no_grad) {
      AMPC_ASSIGN_OR_RETURN(const Var* var, Named(name, "no_grad"));
      blocked_[var->id()] = true;
    }
    if (options.wanted.empty()) {
      for (const std::unique_ptr<Var>& var : block_.vars()) {
        if (var->kind == VarKind::kParam && var->trainable && !var->stop_gradient && !blocked_[var->id()]) sources_.push_back(var.get());
      }
    }
    for (const std::string& name : options.wanted) {
      AMPC_ASSIGN_OR_RETURN(Var * var, Named(name, "wanted"));
      if (var->kind == VarKind::kTemp) return UsageError(absl::StrCat("'", name, "' is computed by an op; a param, state or feed is needed"));
      sources_.push_back(var);
    }
    for (const Var* var : sources_) flows_[var->id()] = IsFloat(var->type.dtype);
    return absl::OkStatus();
  }

  absl::StatusOr<Var*> Named(const std::string& name, absl::string_view list) const {
    Var* var = block_.FindVar(name);
    if (var == nullptr) return UsageError(absl::StrCat(list, ": the program has no variable '", name, "'"));
    return var;
  }

  bool Passes(const Var& result) const {
    return IsFloat(result.type.dtype) && !result.stop_gradient && !blocked_[result.id()] && result.kind == VarKind::kTemp;
  }

  absl::Status FindFlow(const BackwardOptions& options) {
    AMPC_RETURN_IF_ERROR(FindSources(options));
    for (const std::unique_ptr<Op>& op : block_.ops()) {
      if (std::none_of(op->inputs().begin(), op->inputs().end(), [this](const Var* v) { return flows_[v->id()]; })) continue;
      for (const Var* result : op->outputs()) {
        if (Passes(*result)) flows_[result->id()] = true;
      }
    }
    return absl::OkStatus();
  }

  // Ops between the sources and the ends, last one first.
  std::vector<const Op*> OpsToward(absl::Span<const VarGradient> ends) const {
    std::vector<bool> needed(program_.num_var_ids(), false);
    for (const VarGradient& end : ends) needed[end.var->id()] = true;
    std::vector<const Op*> ops;
    for (auto it = block_.ops().rbegin(); it != block_.ops().rend(); ++it) {
      const Op& op = **it;
      const auto counts = [&](const Var* v) { return needed[v->id()] && flows_[v->id()]; };
      if (std::none_of(op.outputs().begin(), op.outputs().end(), counts)) continue;
      ops.push_back(&op);
      for (const Var* v : op.inputs()) needed[v->id()] = true;
    }
    return ops;
  }

  absl::Status Start(const Var& loss) {
    AMPC_ASSIGN_OR_RETURN(Op * op, Append("fill_constant", nullptr));
    std::vector<int64_t> shape(loss.type.dims.begin(), loss.type.dims.end());
    op->SetAttr("shape", shape);
    op->SetAttr("value", 1.0f);
    op->SetAttr("dtype", loss.type.dtype);
    op->SetAttr("op_role", kBackward | kLossRole);
    Var* one = NewGradient(loss);
    op->SetOutputs(0, {one});
    gradients_[loss.id()].push_back(one);
    return absl::OkStatus();
  }

  absl::StatusOr<Op*> Append(absl::string_view type, const Op* forward) {
    const OpDef* def = Ops().Find(type);
    if (def == nullptr) {
      return UnsupportedError(absl::StrCat(forward == nullptr ? "the loss" : Describe(*forward), ": there is no op '", type, "' to compute its gradient"));
    }
    Op* op = block_.Append(block_.NewOp(def));
    op->SetAttr("op_role", kBackward);
    if (forward != nullptr) op->marks.guard = forward->marks.guard;
    return op;
  }

  Var* NewGradient(const Var& var) {
    return block_.AddVar(block_.UniqueName(absl::StrCat(var.name(), kSuffix)), VarKind::kTemp, var.type);
  }

  // What was added up for `var` so far; null for nothing.
  absl::StatusOr<Var*> GradientOf(const Var& var) {
    std::vector<Var*>& parts = gradients_[var.id()];
    if (parts.empty()) return nullptr;
    if (parts.size() == 1) return parts[0];
    for (size_t i = 0; i < parts.size(); ++i) block_.RenameVar(parts[i], block_.UniqueName(absl::StrCat(var.name(), kSuffix, "@RENAME@block0@", i)));
    AMPC_ASSIGN_OR_RETURN(Op * sum, Append("sum", nullptr));
    sum->SetInputs(0, parts);
    Var* total = block_.AddVar(absl::StrCat(var.name(), kSuffix), VarKind::kTemp, var.type);
    sum->SetOutputs(0, {total});
    parts = {total};
    return total;
  }

  // Zeros where other results of the same op have a gradient and this one does not matter.
  absl::StatusOr<Var*> GradientOrZeros(Var& result, const Op& forward) {
    AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOf(result));
    if (gradient != nullptr) return gradient;
    AMPC_ASSIGN_OR_RETURN(Op * zeros, Append("fill_any_like", &forward));
    zeros->SetInputs(0, {&result});
    zeros->SetAttr("value", 0.0f);
    Var* out = NewGradient(result);
    zeros->SetOutputs(0, {out});
    return out;
  }

  absl::Status Differentiate(const Op& op) {
    const std::string& gradient = op.def().gradient;
    if (op.def().opaque || absl::StartsWith(gradient, "none: ")) {
      const absl::string_view why = op.def().opaque ? "no record describes this op" : absl::StripPrefix(gradient, "none: ");
      return UnsupportedError(absl::StrCat(Describe(op), " lies between a trained variable and the loss and has no gradient: ", why));
    }
    return HasSpecialGradient(op) ? DifferentiateSpecial(op) : DifferentiateByRecord(op);
  }

  absl::Status DifferentiateSpecial(const Op& op) {
    std::vector<int> wanted;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      if (flows_[op.inputs()[i]->id()]) wanted.push_back(static_cast<int>(i));
    }
    std::vector<Var*> gradients;
    for (Var* result : op.outputs()) {
      AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOrZeros(*result, op));
      gradients.push_back(gradient);
    }
    for (SpecialGradient& special : SpecialGradients(op, gradients, wanted)) {
      AMPC_ASSIGN_OR_RETURN(Op * out, Append(op.def().gradient, &op));
      for (const auto& [slot, vars] : special.inputs) out->SetInputs(out->def().InputSlot(slot), vars);
      for (Attr& attr : special.attrs) out->SetAttr(attr.name, std::move(attr.value));
      const Var& operand = *op.inputs()[special.operand];
      Var* result = NewGradient(operand);
      out->SetOutputs(0, {result});
      gradients_[operand.id()].push_back(result);
    }
    return absl::OkStatus();
  }

  // Slots of the gradient op are named after those of the forward op; see graph/ops/gradients.h.
  absl::Status DifferentiateByRecord(const Op& op) {
    const OpDef* def = Ops().Find(op.def().gradient);
    if (def == nullptr) return UnsupportedError(absl::StrCat(Describe(op), ": there is no op '", op.def().gradient, "' to compute its gradient"));
    std::vector<std::vector<Var*>> operands;
    for (const SlotDef& slot : def->inputs) {
      AMPC_ASSIGN_OR_RETURN(std::vector<Var*> vars, OperandsFor(op, slot));
      operands.push_back(std::move(vars));
    }
    AMPC_ASSIGN_OR_RETURN(Op * out, Append(def->name, &op));
    for (size_t s = 0; s < operands.size(); ++s) out->SetInputs(static_cast<int>(s), operands[s]);
    for (const Attr& attr : op.attrs()) {
      if (def->FindAttr(attr.name) != nullptr && !absl::StartsWith(attr.name, "op_")) out->SetAttr(attr.name, attr.value);
    }
    for (size_t s = 0; s < def->outputs.size(); ++s) {
      const int slot = op.def().InputSlot(absl::StripSuffix(def->outputs[s].name, kSuffix));
      const absl::Span<Var* const> vars = op.inputs(slot);
      if (std::none_of(vars.begin(), vars.end(), [this](const Var* v) { return flows_[v->id()]; })) continue;
      std::vector<Var*> results;
      for (Var* v : vars) results.push_back(NewGradient(*v));
      out->SetOutputs(static_cast<int>(s), results);
      for (size_t i = 0; i < vars.size(); ++i) {
        if (flows_[vars[i]->id()]) gradients_[vars[i]->id()].push_back(results[i]);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Var*>> OperandsFor(const Op& op, const SlotDef& slot) {
    std::vector<Var*> vars;
    if (absl::EndsWith(slot.name, kSuffix)) {
      for (Var* result : op.outputs(op.def().OutputSlot(absl::StripSuffix(slot.name, kSuffix)))) {
        AMPC_ASSIGN_OR_RETURN(Var * gradient, GradientOrZeros(*result, op));
        vars.push_back(gradient);
      }
      return vars;
    }
    const int input = op.def().InputSlot(slot.name);
    const absl::Span<Var* const> from = input >= 0 ? op.inputs(input) : op.outputs(op.def().OutputSlot(slot.name));
    return std::vector<Var*>(from.begin(), from.end());
  }

  Program& program_;
  Block& block_;
  std::vector<Var*> sources_;
  std::vector<bool> flows_;    // by Var::id: a gradient is wanted for it or for something it is computed from
  std::vector<bool> blocked_;  // by Var::id
  std::vector<std::vector<Var*>> gradients_;  // by Var::id: the parts to be added up
};

}  // namespace

absl::StatusOr<std::vector<VarGradient>> AppendBackward(Program& program, Var& loss, const BackwardOptions& options) {
  return Backward(program).FromLoss(loss, options);
}

absl::StatusOr<std::vector<VarGradient>> AppendGradients(Program& program, absl::Span<const VarGradient> seeds, const BackwardOptions& options) {
  return Backward(program).FromSeeds(seeds, options);
}

PassInfo AppendBackwardPass() {
  PassInfo info{"append-backward", "appends the ops that compute the gradient of a loss; the gradients become fetches", {}, nullptr};
  info.options = {{"loss", "the value to differentiate"}, {"wanted", "params and feeds; all trainable params without it"}, {"no_grad", "values that gradients do not pass"}};
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
