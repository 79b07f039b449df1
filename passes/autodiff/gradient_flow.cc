#include "passes/autodiff/gradient_flow.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

absl::StatusOr<Var*> Named(const Block& block, const std::string& name, absl::string_view list) {
  Var* var = block.FindVar(name);
  if (var == nullptr) return UsageError(absl::StrCat(list, ": the program has no variable '", name, "'"));
  return var;
}

// A carry counts, so that the op of control flow that writes it is met and refused.
bool MayPass(const Var& result) {
  return result.type.IsFloat() && !result.stop_gradient && (result.kind == VarKind::kTemp || result.kind == VarKind::kCarry);
}

}  // namespace

GradientFlow::GradientFlow(const Program& program)
    : block_(&program.main()),
      passes_(program.num_var_ids(), false),
      stops_(program.num_var_ids(), false),
      position_(program.num_op_ids(), -1),
      last_write_(program.num_var_ids(), -1) {}

absl::StatusOr<GradientFlow> GradientFlow::Find(const Program& program, absl::Span<const std::string> wanted,
                                                absl::Span<const std::string> no_grad) {
  GradientFlow flow(program);
  for (const std::string& name : no_grad) {
    AMPC_ASSIGN_OR_RETURN(const Var* var, Named(*flow.block_, name, "no_grad"));
    flow.stops_[var->id()] = true;
  }
  AMPC_RETURN_IF_ERROR(flow.FindSources(wanted));
  int position = 0;
  for (const std::unique_ptr<Op>& op : flow.block_->ops()) {
    flow.position_[op->id()] = position;
    const bool reached = std::any_of(op->inputs().begin(), op->inputs().end(), [&flow](const Var* v) { return flow.passes_[v->id()]; });
    for (const Var* result : op->outputs()) {
      if (result->IsWritable()) flow.last_write_[result->id()] = position;
      if (reached && MayPass(*result) && !flow.stops_[result->id()]) flow.passes_[result->id()] = true;
    }
    ++position;
  }
  return flow;
}

absl::Status GradientFlow::FindSources(absl::Span<const std::string> wanted) {
  for (const std::string& name : wanted) {
    AMPC_ASSIGN_OR_RETURN(Var * var, Named(*block_, name, "wanted"));
    if (var->kind == VarKind::kTemp || var->kind == VarKind::kCarry) {
      return UsageError(absl::StrCat("wanted: '", name, "' is computed by an op; a param, state or feed is needed"));
    }
    if (!var->type.IsFloat())
      return UsageError(absl::StrCat("wanted: '", name, "' is ", ToString(var->type), "; only a float has a gradient"));
    sources_.push_back(var);
  }
  if (wanted.empty()) {
    for (const std::unique_ptr<Var>& var : block_->vars()) {
      const bool trained = var->kind == VarKind::kParam && var->trainable && !var->stop_gradient && var->type.IsFloat();
      if (trained && !stops_[var->id()]) sources_.push_back(var.get());
    }
  }
  for (const Var* var : sources_) passes_[var->id()] = true;
  return absl::OkStatus();
}

std::vector<Op*> GradientFlow::OpsToward(absl::Span<const Var* const> ends) const {
  std::vector<bool> needed(passes_.size(), false);
  for (const Var* end : ends) needed[end->id()] = true;
  std::vector<Op*> ops;
  for (auto it = block_->ops().rbegin(); it != block_->ops().rend(); ++it) {
    Op& op = **it;
    const auto counts = [&](const Var* v) { return Passes(*v) && needed[v->id()] && MayPass(*v); };
    if (std::none_of(op.outputs().begin(), op.outputs().end(), counts)) continue;
    ops.push_back(&op);
    for (const Var* v : op.inputs()) needed[v->id()] = true;
  }
  return ops;
}

bool GradientFlow::IsOverwrittenAfter(const Op& op, const Var& var) const {
  return var.id() < static_cast<int>(last_write_.size()) && last_write_[var.id()] > position_[op.id()];
}

}  // namespace ampc
