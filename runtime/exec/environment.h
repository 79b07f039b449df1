// Environment: the values of one run of a program with blocks. A carry is one variable, whichever block writes it.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/program.h"
#include "runtime/exec/executor.h"
#include "runtime/plan/constants.h"

namespace ampc {

// An element that nothing has written is null.
using TensorArray = std::vector<SharedTensor>;

// Tensors are in storage type and never change: writing a variable again gives it another one. Not thread-safe.
class Environment {
 public:
  // Keeps references.
  Environment(const Program& program, const Constants& constants) : constants_(constants), values_(program.num_var_ids()) {}

  // Null when no op that ran has written it and the program brings no value along.
  absl::StatusOr<SharedTensor> Find(const Var& var) const;
  // The same for an operand of `reader`; an error instead of null.
  absl::StatusOr<SharedTensor> Read(const Op& reader, const Var& var) const;
  // Empty before the first write.
  TensorArray& Array(const Var& var) { return values_[var.id()].array; }

  // `fixed`: the value follows from shapes alone, so that plans may be built for it.
  void Set(const Var& var, SharedTensor tensor, bool fixed = false);
  bool IsFixed(const Var& var) const { return values_[var.id()].fixed; }
  // Gives `to` whatever `from` has: a tensor, an array or nothing.
  absl::Status Copy(const Var& from, const Var& to);
  void Release(const Var& var) { values_[var.id()] = {}; }

 private:
  struct Value {
    SharedTensor tensor;
    TensorArray array;
    bool fixed = false;
  };

  const Constants& constants_;
  std::vector<Value> values_;  // by Var::id
};

}  // namespace ampc
