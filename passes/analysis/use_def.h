// UseDef: who defines and who reads each value, as flat tables by Var::id. A snapshot: rewriting the program outdates it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/program.h"

namespace ampc {

struct Use {
  Op* op;
  int flat;  // operand position
};

class UseDef {
 public:
  explicit UseDef(const Program& program);

  // The op that defines a temp; the last writer in program order of a param, state or carry; null when nothing writes it.
  Op* producer(const Var& var) const { return producer_[var.id()]; }
  int num_writers(const Var& var) const { return writers_[var.id()]; }
  // Every reading operand, in program order.
  absl::Span<const Use> uses(const Var& var) const {
    return absl::MakeConstSpan(uses_).subspan(begin_[var.id()], begin_[var.id() + 1] - begin_[var.id()]);
  }
  bool fetched(const Var& var) const { return fetched_[var.id()]; }
  // Read by exactly one operand and not fetched.
  bool single_use(const Var& var) const { return uses(var).size() == 1 && !fetched(var); }

 private:
  std::vector<Op*> producer_;
  std::vector<int32_t> writers_;
  std::vector<int32_t> begin_;
  std::vector<Use> uses_;
  std::vector<bool> fetched_;
};

// Removes the temps and consts that no op refers to any more; feeds, params, states, carries and fetched values stay.
// Returns whether any went.
bool RemoveUnusedVars(Program& program);

}  // namespace ampc
