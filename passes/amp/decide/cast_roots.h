// CastRoots: looks through the casts that AMP inserted, so that a converted program is judged like its original.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

class CastRoots {
 public:
  explicit CastRoots(const Program& program);
  // The value that inserted casts made `var` from; `var` itself where none did.
  const Var& Root(const Var& var) const { return *roots_[var.id()]; }

 private:
  std::vector<const Var*> roots_;
};

}  // namespace ampc
