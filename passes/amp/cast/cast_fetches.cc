#include "absl/strings/str_cat.h"
#include "passes/amp/cast/materializer.h"

namespace ampc {

void Materializer::FindOutdatedFetches(const std::vector<std::unique_ptr<Op>>& ops) {
  outdated_.clear();
  for (const std::unique_ptr<Op>& op : ops) {
    if (!IsInserted(*op) || !IsCast(*op)) continue;
    const Var& source = *op->inputs()[0];
    Var* fetch = op->outputs()[0];
    if (fetch->kind != VarKind::kTemp || source.kind != VarKind::kTemp || !fetched_[fetch->id()] || fetched_[source.id()]) continue;
    const bool keep = AmpDecision::Has(decision_.keep_var, fetch->id());
    if (keep ? IsRetyped(*fetch) : decision_.own_slots && !IsRetyped(*fetch) && IsRetyped(source)) outdated_[source.id()] = fetch;
  }
}

bool Materializer::DefinesFetchAgain(Op& op) {
  if (outdated_.empty()) return false;
  if (IsInserted(op) && outdated_.contains(op.inputs()[0]->id()) && op.outputs()[0] == outdated_[op.inputs()[0]->id()]) return true;
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    auto it = outdated_.find(op.outputs()[i]->id());
    if (it == outdated_.end()) continue;
    Var* uncast = op.outputs()[i];
    op.ReplaceOutput(i, it->second);
    Retype(*it->second, uncast->type.dtype);
    earlier_[uncast->id()] = it->second;
    gone_.push_back(uncast->id());
  }
  return false;
}

void Materializer::RetypeFetches(Op& op) {
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    Var* var = op.outputs()[i];
    if (var->kind != VarKind::kTemp || var->type.dtype != DType::kF32 || !AmpDecision::Has(decision_.low_var, var->id())) continue;
    Var* uncast = block_->AddVar(block_->UniqueName(absl::StrCat(var->name(), ".", Name(DType::kF32))), VarKind::kTemp, var->type);
    uncast->stop_gradient = var->stop_gradient;
    op.ReplaceOutput(i, uncast);
    Retype(*var, decision_.low);
    earlier_[var->id()] = uncast;
    trailing_.emplace_back(uncast, var);
  }
}

}  // namespace ampc
