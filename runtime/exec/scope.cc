#include "runtime/exec/scope.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "kernels/round.h"
#include "kernels/storage.h"
#include "kernels/tensor_desc.h"
#include "runtime/exec/scope_mirror.h"

namespace ampc {
namespace {

std::string TypeText(DType dtype, absl::Span<const int64_t> dims) { return absl::StrCat(Name(dtype), " ", ShapeToString(dims)); }

void Round(DType dtype, HostTensor& storage) {
  if (IsLowPrecision(dtype)) RoundTo(dtype, storage.mutable_values<float>().data(), storage.num_elements());
}

absl::Status Absent(const Scope& scope, absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const auto& [other, variable] : scope.variables()) names.push_back(other);
  return UsageError(absl::StrCat("the scope has no variable '", name, "'", Suggest(name, names)));
}

}  // namespace

Scope::Scope() = default;
Scope::~Scope() = default;

absl::Status Scope::Add(const std::string& name, DType dtype, HostTensor value) {
  if (variables_.contains(name)) return UsageError(absl::StrCat("variable '", name, "' is in the scope already"));
  if (value.dtype() != dtype && value.dtype() != StorageType(dtype)) {
    return UsageError(absl::StrCat("the value of '", name, "' is ", Name(value.dtype()), ", needs ", Name(dtype)));
  }
  AMPC_ASSIGN_OR_RETURN(HostTensor stored, ToStorage(std::move(value)));
  Round(dtype, stored);
  variables_.emplace(name, Variable{dtype, std::move(stored)});
  return absl::OkStatus();
}

const Scope::Variable* Scope::Find(absl::string_view name) const {
  const auto it = variables_.find(name);
  if (it == variables_.end()) return nullptr;
  const Variable* variable = &it->second;
  if (mirror_ != nullptr) mirror_->Remember(mirror_->Download({&variable, 1}));
  return variable;
}

Scope::Variable* Scope::FindVariable(absl::string_view name) {
  const auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

HostTensor* Scope::FindStorage(absl::string_view name) {
  if (Find(name) == nullptr) return nullptr;
  Variable& variable = variables_.find(name)->second;
  if (mirror_ != nullptr) mirror_->HostWritten(variable);
  return &variable.value;
}

absl::StatusOr<HostTensor> Scope::Get(absl::string_view name) const {
  const auto it = variables_.find(name);
  if (it == variables_.end()) return Absent(*this, name);
  const Variable* variable = &it->second;
  if (mirror_ != nullptr) AMPC_RETURN_IF_ERROR(mirror_->Download({&variable, 1}));
  return FromStorage(variable->value, variable->dtype);
}

absl::Status Scope::Set(absl::string_view name, const HostTensor& value) {
  const auto it = variables_.find(name);
  if (it == variables_.end()) return Absent(*this, name);
  auto& [dtype, storage] = it->second;
  const bool known_type = value.dtype() == dtype || value.dtype() == storage.dtype();
  if (!known_type || value.dims() != storage.dims()) {
    return UsageError(
        absl::StrCat("the value for '", name, "' is ", TypeText(value.dtype(), value.dims()), ", needs ", TypeText(dtype, storage.dims())));
  }
  if (value.dtype() == storage.dtype()) {
    if (value.size_bytes() > 0) std::memcpy(storage.mutable_data(), value.data(), value.size_bytes());
    Round(dtype, storage);
  } else {
    Widen(value, storage.mutable_values<float>().data());
  }
  if (mirror_ != nullptr) mirror_->HostWritten(it->second);
  return absl::OkStatus();
}

absl::Status Scope::SetDType(absl::string_view name, DType dtype) {
  const auto it = variables_.find(name);
  if (it == variables_.end()) return Absent(*this, name);
  if (it->second.dtype == dtype) return absl::OkStatus();
  if (StorageType(dtype) != DType::kF32 || it->second.value.dtype() != DType::kF32) {
    return UsageError(absl::StrCat("variable '", name, "' is ", Name(it->second.dtype), ", which cannot become ", Name(dtype)));
  }
  const Variable* variable = &it->second;
  if (mirror_ != nullptr) AMPC_RETURN_IF_ERROR(mirror_->Download({&variable, 1}));
  it->second.dtype = dtype;
  Round(dtype, it->second.value);
  if (mirror_ != nullptr) mirror_->HostWritten(it->second);
  return absl::OkStatus();
}

const std::map<std::string, Scope::Variable, std::less<>>& Scope::variables() const {
  if (mirror_ != nullptr) mirror_->Remember(mirror_->DownloadAll());
  return variables_;
}

absl::StatusOr<ScopeMirror*> Scope::Mirror(const std::shared_ptr<Device>& device) {
  if (mirror_ == nullptr) {
    AMPC_ASSIGN_OR_RETURN(mirror_, ScopeMirror::Create(device));
  }
  if (mirror_->device().name() == device->name()) return mirror_.get();
  return UsageError(
      absl::StrCat("the scope's variables are on '", mirror_->device().name(), "', so no program can use them on '", device->name(), "'"));
}

absl::Status Scope::Refresh(absl::Span<const std::string> names) const {
  if (mirror_ == nullptr) return absl::OkStatus();
  std::vector<const Variable*> variables;
  for (const std::string& name : names) {
    const auto it = variables_.find(name);
    if (it != variables_.end()) variables.push_back(&it->second);
  }
  return mirror_->Download(variables);
}

absl::Status Scope::RefreshAll() const { return mirror_ == nullptr ? absl::OkStatus() : mirror_->DownloadAll(); }

absl::Status Scope::Wait() const { return mirror_ == nullptr ? absl::OkStatus() : mirror_->stream().Synchronize(); }

int64_t Scope::bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, variable] : variables_) bytes += static_cast<int64_t>(variable.value.size_bytes());
  return bytes;
}

}  // namespace ampc
