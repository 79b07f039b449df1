// Constants: the values that a program brings along (params, consts, states with a stored value), in storage type.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "runtime/plan/state_table.h"

namespace ampc {

class Constants {
 public:
  // Reads every weight that an op or a fetch of `program` names once, those of variables in `states` (may be null) aside. Errors: a param
  // without a stored value, dims that do not fit the bytes.
  static absl::StatusOr<Constants> Load(const Program& program, const StateTable* states = nullptr);
  // Null for a variable that has no value. A value lives as long as this object; moving it keeps addresses.
  const HostTensor* Find(const Var& var) const { return values_[var.id()].get(); }
  // All of them; null for a variable that has none.
  absl::Span<const std::shared_ptr<const HostTensor>> all() const { return values_; }

 private:
  std::vector<std::shared_ptr<const HostTensor>> values_;  // by Var::id; a literal is the program's own
};

}  // namespace ampc
