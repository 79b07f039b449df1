// StateTable: the variables of a program whose values outlive a run, and the memory of each.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"

namespace ampc {

// Ops that overwrite such a variable change its memory in place: values in storage type, row-major; on a device that has a copy, there,
// in the type that the program declares. The table owns neither.
class StateTable {
 public:
  explicit StateTable(const Program& program) : values_(program.num_var_ids(), nullptr) {}
  // `device`: the copy in a device's memory.
  void Set(const Var& var, HostTensor* value, void* device = nullptr) {
    values_[var.id()] = value;
    if (device != nullptr) device_[value] = device;
  }
  // Null for a variable that is none.
  HostTensor* Find(const Var& var) const { return values_[var.id()]; }
  // Null for a value without a copy on a device.
  void* DeviceMemory(const HostTensor* value) const {
    const auto at = device_.find(value);
    return at == device_.end() ? nullptr : at->second;
  }

 private:
  std::vector<HostTensor*> values_;  // by Var::id
  absl::flat_hash_map<const HostTensor*, void*> device_;
};

}  // namespace ampc
