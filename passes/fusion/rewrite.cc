#include "passes/fusion/rewrite.h"

#include <utility>

namespace ampc {

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
  for (std::unique_ptr<Op>& op : ops) {
    const auto instead = op == nullptr ? instead_.end() : instead_.find(op.get());
    if (instead != instead_.end()) graveyard_.push_back(std::exchange(op, std::move(instead->second)));
  }
  std::erase(ops, nullptr);
  block.SetOps(std::move(ops));
}

}  // namespace ampc
