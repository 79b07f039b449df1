#include "runtime/exec/environment.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<SharedTensor> Environment::Find(const Var& var) const {
  const SharedTensor& tensor = values_[var.id()].tensor;
  if (tensor != nullptr) return tensor;
  return constants_.InStorage(constants_.Find(var));  // constants outlive the run
}

absl::StatusOr<SharedTensor> Environment::Read(const Op& reader, const Var& var) const {
  AMPC_ASSIGN_OR_RETURN(SharedTensor tensor, Find(var));
  if (tensor != nullptr) return tensor;
  if (var.type.kind == TypeKind::kTensorArray) {
    return UnsupportedError(
        absl::StrCat(Describe(reader), ": operand '", var.name(), "' is a tensor array, on which this op cannot be executed"));
  }
  return UsageError(absl::StrCat(Describe(reader), ": operand '", var.name(), "' has no value, because no branch that ran has written it"));
}

void Environment::Set(const Var& var, SharedTensor tensor, bool fixed) {
  Value& value = values_[var.id()];
  value.tensor = std::move(tensor);
  value.fixed = fixed;
}

absl::Status Environment::Copy(const Var& from, const Var& to) {
  AMPC_ASSIGN_OR_RETURN(SharedTensor tensor, Find(from));
  values_[to.id()] = Value{std::move(tensor), values_[from.id()].array, false};
  return absl::OkStatus();
}

}  // namespace ampc
