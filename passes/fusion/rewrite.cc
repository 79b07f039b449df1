#include "passes/fusion/rewrite.h"

#include <utility>

namespace ampc {

std::unique_ptr<Op> Rewrite::NewOp(const OpDef* def, const Op& like) {
  std::unique_ptr<Op> op = like.block().NewOp(def);
  op->marks = like.marks;
  op->line = like.line;
  op->lowered_from = like.lowered_from;
  return op;
}

Var* Rewrite::NewTemp(Block& block, absl::string_view base, DType dtype, Dims dims) {
  return block.AddVar(block.UniqueName(base), VarKind::kTemp, TensorType(dtype, std::move(dims)));
}

void Rewrite::MoveTo(const Op& op, const Op& place) {
  Drop(place);
  moves_[&op] = &place;
}

Op* Rewrite::OnlyReader(const Var& var) const {
  if (var.kind != VarKind::kTemp || !uses_.single_use(var)) return nullptr;
  Op* reader = uses_.uses(var)[0].op;
  return &reader->block() == &var.block() && !IsGone(*reader) ? reader : nullptr;
}

void Rewrite::Finish(Block& block, std::vector<std::unique_ptr<Op>> ops) {
  for (std::unique_ptr<Op>& op : ops) {
    const auto move = moves_.find(op.get());
    if (move != moves_.end()) instead_[move->second] = std::move(op);
  }
  moves_.clear();
  std::vector<std::unique_ptr<Op>> kept;
  kept.reserve(ops.size() + before_.size());
  for (std::unique_ptr<Op>& op : ops) {
    if (op == nullptr) continue;
    if (const auto before = before_.find(op.get()); before != before_.end()) {
      for (std::unique_ptr<Op>& inserted : before->second) kept.push_back(std::move(inserted));
    }
    const auto instead = instead_.find(op.get());
    if (instead != instead_.end()) graveyard_.push_back(std::exchange(op, std::move(instead->second)));
    if (op != nullptr) kept.push_back(std::move(op));
  }
  before_.clear();
  block.SetOps(std::move(kept));
}

}  // namespace ampc
