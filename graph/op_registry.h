// The records of all ops; built once, constant after.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace ampc {

class OpRegistry {
 public:
  // Fails on a second record with the same name.
  absl::Status Add(OpDef def);
  const OpDef* Find(absl::string_view name) const;  // null when unknown
  // Sorted by name.
  std::vector<const OpDef*> All() const;

 private:
  std::map<std::string, std::unique_ptr<OpDef>, std::less<>> defs_;
};

// The registry with every record listed in graph/ops/all_ops.inc. Thread-safe; never fails after the registry test passed.
const OpRegistry& Ops();

}  // namespace ampc
