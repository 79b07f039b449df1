// Versions: how often each param, state or carry has been written at the point that a sweep has reached. Two reads of a value
// with the same version give the same bits.
#pragma once

#include <vector>

#include "graph/program.h"

namespace ampc {

class Versions {
 public:
  explicit Versions(const Program& program) : program_(program), count_(program.num_var_ids(), 0) {}

  int Of(const Var& var) const { return var.id() < static_cast<int>(count_.size()) ? count_[var.id()] : 0; }
  // Steps over an op: what it overwrites, and what the bodies of a control op overwrite, is another value from here on.
  void After(const Op& op);
  void Wrote(const Var& var) {
    if (var.IsWritable() && var.id() < static_cast<int>(count_.size())) ++count_[var.id()];
  }

 private:
  const Program& program_;
  std::vector<int> count_;
};

}  // namespace ampc
