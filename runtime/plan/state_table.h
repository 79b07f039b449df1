// StateTable: the variables of a program whose values outlive a run, and the memory of each.
#pragma once

#include <vector>

#include "graph/base/host_tensor.h"
#include "graph/program.h"

namespace ampc {

// Ops that overwrite such a variable change its memory in place: values in storage type, row-major. The table does not own it.
class StateTable {
 public:
  explicit StateTable(const Program& program) : values_(program.num_var_ids(), nullptr) {}
  void Set(const Var& var, HostTensor* value) { values_[var.id()] = value; }
  // Null for a variable that is none.
  HostTensor* Find(const Var& var) const { return values_[var.id()]; }

 private:
  std::vector<HostTensor*> values_;  // by Var::id
};

}  // namespace ampc
