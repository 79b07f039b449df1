// OriginalNames: values as the user knows them, in a program that an earlier conversion may have rewritten.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

// Inserted casts are looked through: what `x.f16 = cast(x)` defines is x, an op that defines `y.f16` for `y = cast(y.f16)`
// defines y, and the low copy `w.f16` beside a weight `w` is w. A snapshot: rewriting the program outdates it.
class OriginalNames {
 public:
  explicit OriginalNames(const Program& program);
  const Var& Of(const Var& var) const { return *known_[var.id()]; }

 private:
  std::vector<const Var*> known_;  // by Var::id
};

}  // namespace ampc
