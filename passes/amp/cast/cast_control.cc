#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/implicit_cast.h"
#include "passes/amp/cast/materializer.h"

namespace ampc {

bool Materializer::TakesBack(const Op& op) {
  if (!IsImplicitCast(op) && !IsListedCast(op)) return false;
  Var* result = op.outputs()[0];
  implicit_.insert(result->id());
  earlier_[result->id()] = op.inputs()[0];
  returned_[Key(op.inputs()[0]->id(), result->type.dtype)].push_back(result);
  return true;
}

bool Materializer::Repeats(const Op& op) {
  if (!IsInserted(op) || !IsCast(op) || op.outputs()[0]->kind != VarKind::kTemp || fetched_[op.outputs()[0]->id()]) return false;
  const Var& source = *op.inputs()[0];
  auto copy = copies_.find(Key(source.id(), op.outputs()[0]->type.dtype));
  if (copy == copies_.end() || versions_.Of(source) != copy->second.source_version) return false;
  earlier_[op.outputs()[0]->id()] = copy->second.var;
  gone_.push_back(op.outputs()[0]->id());
  changed_ = true;
  return true;
}

bool Materializer::ReadEarlierCasts(Op& op) {
  bool converted = false;
  for (int i = 0; !earlier_.empty() && i < static_cast<int>(op.inputs().size()); ++i) {
    for (auto it = earlier_.find(op.inputs()[i]->id()); it != earlier_.end(); it = earlier_.find(it->second->id())) {
      converted = converted || implicit_.contains(it->first);
      op.ReplaceInput(i, it->second);
    }
  }
  return converted;
}

Var* Materializer::ResultFor(const Var& source, DType type) {
  auto it = returned_.find(Key(source.id(), type));
  if (it != returned_.end() && !it->second.empty()) {
    Var* again = it->second.front();
    it->second.pop_front();
    return again;
  }
  changed_ = true;
  Var* fresh =
      block_->AddVar(block_->UniqueName(absl::StrCat(source.name(), ".", Name(type))), VarKind::kTemp, source.type.WithDType(type));
  fresh->stop_gradient = source.stop_gradient;
  return fresh;
}

void Materializer::DropReturned() {
  for (const auto& [key, vars] : returned_) {
    for (const Var* var : vars) gone_.push_back(var->id());
    changed_ = changed_ || !vars.empty();
  }
  returned_.clear();
}

void Materializer::LeaveToRuntime(Op& op) {
  const CastResult result = [this](const Var& source, DType type) { return ResultFor(source, type); };
  for (std::unique_ptr<Op>& cast : MakeImplicitCasts(op, result)) out_.push_back(std::move(cast));
}

void Materializer::ListCasts(const Op& op) {
  absl::flat_hash_set<int> seen;
  for (const bool params : {false, true}) {
    for (Var* var : op.inputs()) {
      if ((var->kind == VarKind::kParam) != params || !var->type.IsFloat() || !WasWider(*var) || !seen.insert(var->id()).second) continue;
      AppendCast(var, ResultFor(*var, DType::kF32));
      out_.back()->marks.amp_reason = std::string(kListedCast);
    }
  }
}

}  // namespace ampc
