// Rewrite: one sweep over a program in which ops are replaced, moved and dropped while the UseDef of the program as it was stays valid:
// ops that are dropped are kept until the end.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "passes/analysis/use_def.h"

namespace ampc {

class Rewrite {
 public:
  explicit Rewrite(Program& program) : program_(program), uses_(program) {}

  const UseDef& uses() const { return uses_; }

  // A new op for the block of `like`, with its marks, its line and what it was lowered from.
  static std::unique_ptr<Op> NewOp(const OpDef* def, const Op& like);
  // A new temp of `block`, named after `base`.
  static Var* NewTemp(Block& block, absl::string_view base, DType dtype, Dims dims);

  // Calls `visit(Op&)`, which returns whether it changed anything, for each op in order but for those that are gone by then. Moves and
  // removals are done at the end of each block. Returns whether any visit changed anything.
  template <typename Visit>
  bool Run(const Visit& visit) {
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
      for (const std::unique_ptr<Op>& op : ops) changed = (!IsGone(*op) && visit(*op)) || changed;
      Finish(program_.block(b), std::move(ops));
    }
    return changed;
  }

  // `op` and `place` are ops of the block at hand, which have not gone yet.
  void Drop(const Op& op) { instead_[&op] = nullptr; }
  void Replace(const Op& op, std::unique_ptr<Op> by) { instead_[&op] = std::move(by); }
  // `op`, a new one, stands in front of `place`, behind those that were inserted there before.
  void InsertBefore(const Op& place, std::unique_ptr<Op> op) { before_[&place].push_back(std::move(op)); }
  // `op` stands where `place` stood, which goes.
  void MoveTo(const Op& op, const Op& place);
  bool IsGone(const Op& op) const { return instead_.contains(&op); }

  // The op that alone reads the temp `var`, in its block and not gone; null for none.
  Op* OnlyReader(const Var& var) const;

 private:
  void Finish(Block& block, std::vector<std::unique_ptr<Op>> ops);

  Program& program_;
  const UseDef uses_;
  absl::flat_hash_map<const Op*, std::unique_ptr<Op>> instead_;              // of ops that are gone; null: nothing
  absl::flat_hash_map<const Op*, std::vector<std::unique_ptr<Op>>> before_;  // of ops of the block at hand
  absl::flat_hash_map<const Op*, const Op*> moves_;                          // of the block at hand
  std::vector<std::unique_ptr<Op>> graveyard_;                               // uses_ still points at them
};

}  // namespace ampc
